// What people would pick instead. Each has a folder of its own with what it depends on, installed on demand.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Server } from 'node:http'
import { fileURLToPath } from 'node:url'
import { ownDatabase, ownFile } from './databases.ts'
import { seed, type User } from './user.ts'

interface Peer {
  readonly stores: readonly string[]
  /** What the database makes keys of. */
  readonly ids?: 'integer'
}

export const peers: Record<string, Peer> = {
  feathers: { stores: ['memory', 'sqlite', 'postgres'] },
  nest: { stores: ['sqlite', 'postgres'] },
  remult: { stores: ['memory', 'sqlite', 'postgres'] },
  'json-server': { stores: ['memory'] },
  platformatic: { stores: ['sqlite', 'postgres'], ids: 'integer' }
}

/** What the `start` of a peer's server.js is given, and gives. */
interface Given {
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

/** No script of theirs is run, and nothing is installed twice. */
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
function filling (items: readonly User[], { id, createdAt }: Columns, numbered: boolean) {
  const rows = items.map(
    (item) =>
      `(${[...(numbered ? [] : [item.id]), item.email, item.name, item.password, item.createdAt].map((value) => `'${value}'`).join()})`
  )
  return `CREATE TABLE users (id ${id}, email TEXT NOT NULL UNIQUE, name TEXT NOT NULL, password TEXT NOT NULL, "createdAt" ${createdAt});
    INSERT INTO users (${numbered ? '' : 'id, '}email, name, password, "createdAt") VALUES ${rows.join()}`
}

/** What the scenarios have created. */
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
    const file = ownFile()
    const database = new DatabaseSync(file)
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
    database.exec(
      filling(
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
    const url = await ownDatabase()
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    await pool.query(
      filling(
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
  // Of a file that is there only once it was asked for, so nothing is known of its types.
  const { start } = (await import(`${folder(name)}/server.js`)) as { start: (given: Given) => Promise<Started> }
  const started = await start({ store, items, ...places })
  return {
    server: started.server,
    reset: async () => {
      await (reset ?? started.reset)?.()
    }
  }
}
