import type { Collection } from '../lib/collection.ts'
import { memory } from '../lib/storage/memory.ts'
import type { Shape, Storage } from '../lib/storage/contract.ts'
import { databases } from './storage/databases.ts'

// For what must be the same whatever keeps the items.

interface Closing {
  after(close: () => Promise<unknown>): void
}

interface Keeper {
  readonly storage: <Item extends object>(shape: Shape) => Storage<Item>
  /** Makes the table of a definition, where there are tables. */
  prepare(collection: Collection, unique?: readonly string[]): Promise<void>
}

export interface Kept {
  readonly name: string
  /** Why it cannot be tested here. */
  readonly skip: string | false
  open(t: Closing): Promise<Keeper>
}

const sqlite = databases.find(({ name }) => name === 'sqlite')!

export const kept: readonly Kept[] = [
  { name: 'memory', skip: false, open: async () => ({ storage: memory(), async prepare () {} }) },
  {
    name: 'SQLite',
    skip: sqlite.skip,
    async open (t) {
      const database = await sqlite.open()
      t.after(() => database.end())
      const adapter = database.adapter()
      return {
        storage: adapter,
        prepare: ({ name, schema, id: { property, generate }, attached }, unique = []) =>
          adapter.createTable({
            name,
            schema,
            id: { property, generate },
            unique,
            receipts: attached.required.has('receipts')
          })
      }
    }
  }
]
