// Alternatives to the library. Each has its own folder and dependencies, which are installed on demand.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Server } from 'node:http'
import { fileURLToPath } from 'node:url'
import { createDatabase, createFile } from './databases.ts'
import { seed, type User } from './user.ts'

interface Peer {
  readonly stores: readonly string[]
  /** The type of the keys that the database generates. */
  readonly ids?: 'integer'
}

export const peers: Record<string, Peer> = {
  feathers: { stores: ['memory', 'sqlite', 'postgres'] },
  nest: { stores: ['sqlite', 'postgres'] },
  remult: { stores: ['memory', 'sqlite', 'postgres'] },
  'json-server': { stores: ['memory'] },
  platformatic: { stores: ['sqlite', 'postgres'], ids: 'integer' }
}

/** The argument and the result of `start` in server.js of a peer. */
interface StartOptions {
  store: string
  items: readonly User[]
  file?: string
  url?: string
}
interface Started {
  server: Server
  reset?: () => void
}

export interface Running {
  server: Server
  reset: () => Promise<void>
}

const folder = (name: string) => fileURLToPath(new URL(`peers/${name}`, import.meta.url))

/** Runs no install scripts, and installs nothing twice. */
export function install (names: readonly string[]) {
  for (const name of names) {
    if (existsSync(`${folder(name)}/node_modules`)) continue
    const { status } = spawnSync(
      'npm',
      ['install', '--prefix', folder(name), '--ignore-scripts', '--no-package-lock', '--no-audit', '--no-fund'],
      { stdio: ['ignore', 2, 2] }
    )
    if (status !== 0) throw new Error(`${name} could not be installed: npm ended with ${status}`)
  }
}

type Columns = Record<'id' | 'createdAt', string>

/** Without a version: none of the peers has one. */
function buildInsert (items: readonly User[], { id, createdAt }: Columns, numbered: boolean) {
  const rows = items.map(
    (item) =>
      `(${[...(numbered ? [] : [item.id]), item.email, item.name, item.password, item.createdAt].map((value) => `'${value}'`).join()})`
  )
  return `CREATE TABLE users (id ${id}, email TEXT NOT NULL UNIQUE, name TEXT NOT NULL, password TEXT NOT NULL, "createdAt" ${createdAt});
    INSERT INTO users (${numbered ? '' : 'id, '}email, name, password, "createdAt") VALUES ${rows.join()}`
}

/** Removes the items of the scenarios. */
const removal = "DELETE FROM users WHERE email LIKE 'new%'"

interface Table {
  file?: string
  url?: string
  reset?: () => Promise<unknown>
}

const tables: Record<string, (items: readonly User[], numbered: boolean) => Promise<Table>> = {
  memory: async () => ({}),
  async sqlite (items, numbered) {
    const { DatabaseSync } = await import('node:sqlite')
    const file = createFile()
    const database = new DatabaseSync(file)
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
    database.exec(
      buildInsert(
        items,
        {
          id: `${numbered ? 'INTEGER' : 'TEXT'} PRIMARY KEY`,
          createdAt: "TEXT DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ'))"
        },
        numbered
      )
    )
    return { file, reset: async () => database.exec(removal) }
  },
  async postgres (items, numbered) {
    const { default: pg } = await import('pg')
    const url = await createDatabase()
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    await pool.query(
      buildInsert(
        items,
        {
          id: numbered ? 'SERIAL PRIMARY KEY' : 'UUID PRIMARY KEY DEFAULT gen_random_uuid()',
          createdAt: 'TIMESTAMPTZ DEFAULT now()'
        },
        numbered
      )
    )
    return { url, reset: () => pool.query(removal) }
  }
}

/** One process runs one peer. */
export async function startPeer (name: string, store: string, count: number): Promise<Running> {
  const peer = peers[name]
  if (peer?.stores.includes(store) !== true) throw new Error(`${name} has no store ${store}`)
  const items = Array.from({ length: count }, (_, number) => seed(number))
  const { reset, ...places } = await tables[store]!(items, peer.ids === 'integer')
  // The file is installed on demand, so its types are not known.
  const { start } = (await import(`${folder(name)}/server.js`)) as { start: (given: StartOptions) => Promise<Started> }
  const started = await start({ store, items, ...places })
  return {
    server: started.server,
    reset: async () => {
      await (reset ?? started.reset)?.()
    }
  }
}
