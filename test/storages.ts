import type { Definition, Shape, Storage } from '../lib/index.ts'
import { memory } from '../lib/storage/memory.ts'
import { databases } from './storage/databases.ts'

// For tests of behavior that must be the same with every storage.

interface Closing {
  after(close: () => Promise<unknown>): void
}

interface OpenStorage {
  readonly storage: <Item extends object>(shape: Shape) => Storage<Item>
  /** Creates the table of a definition, if the storage has tables. */
  prepare(definition: Definition): Promise<void>
}

export interface TestStorage {
  readonly name: string
  /** Why it cannot be tested here. */
  readonly skip: string | false
  open(t: Closing): Promise<OpenStorage>
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
        prepare: (definition) => adapter.createTable(definition)
      }
    }
  }
]
