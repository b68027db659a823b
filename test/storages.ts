import type { Collection } from '../lib/collection.ts'
import { memory } from '../lib/storage/memory.ts'
import type { Shape, Storage } from '../lib/storage/contract.ts'
import type { SqlAdapter } from '../lib/storage/sql.ts'
import { databases } from './storage/databases.ts'

// For tests of behavior that must be the same with every storage.

interface Closing {
  after(close: () => Promise<unknown>): void
}

interface OpenStorage {
  readonly storage: <Item extends object>(shape: Shape) => Storage<Item>
  /** Creates the table of a definition, if the storage has tables. */
  prepare(collection: Collection, unique?: readonly string[]): Promise<void>
}

export interface TestStorage {
  readonly name: string
  /** Why it cannot be tested here. */
  readonly skip: string | false
  open(t: Closing): Promise<OpenStorage>
}

/** Creates the table of a collection, with that of its receipts if it needs one. */
export async function createTable (
  adapter: SqlAdapter,
  { name, schema, id: { property, generate }, attached }: Collection,
  unique: ReadonlyArray<string | readonly string[]> = []
): Promise<void> {
  await adapter.createTable({
    name,
    schema,
    id: { property, generate },
    unique,
    receipts: attached.required.has('receipts')
  })
}

const sqlite = databases.find(({ name }) => name === 'sqlite')!

export const storages: readonly TestStorage[] = [
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
        prepare: (collection, unique) => createTable(adapter, collection, unique)
      }
    }
  }
]
