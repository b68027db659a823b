import tap from 'tap'
import type { Definition } from '../lib/index.ts'
import type { Shape, Storage } from '../lib/storage/index.ts'
import { memory } from '../lib/storage/memory.ts'
import { databases } from './storage/databases.ts'
import type { Available, Database } from './storage/databases.ts'

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

const opened = new Map<Available, Promise<Database>>()

/** Starting a server takes longer than most tests, so the tests of a file share it. */
function openOnce (available: Available): Promise<Database> {
  const database = opened.get(available) ?? available.open()
  opened.set(available, database)
  return database
}

tap.teardown(async () => {
  for (const database of opened.values()) await (await database).end()
})

/** Memory and every database. The tables of a test are removed when it ends. */
export const allStorages: readonly TestStorage[] = [
  { name: 'memory', skip: false, open: async () => ({ storage: memory(), async prepare () {} }) },
  ...databases.map((available): TestStorage => ({
    name: available.name === 'sqlite' ? 'SQLite' : available.name,
    skip: available.skip,
    async open (t) {
      const database = await openOnce(available)
      const adapter = database.adapter()
      return {
        storage: adapter,
        async prepare (definition) {
          await adapter.createTable(definition)
          t.after(() => database.run(`DROP TABLE ${definition.name}`))
        }
      }
    }
  }))
]

/** Those that need no server. */
export const storages = allStorages.filter(({ name }) => name === 'memory' || name === 'SQLite')
