import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import driver from 'mysql2/promise'
import t, { test } from 'tap'
import type { SqlAdapter } from '../lib/storage/sql.ts'
import { mysql } from '../lib/storage/mysql.ts'
import { postgres } from '../lib/storage/postgres.ts'
import { sqlite } from '../lib/storage/sqlite.ts'
import { defineBank } from './fixtures/bank-server.ts'
import type { Place } from './fixtures/bank-server.ts'
import { noMariadb, startMariadb, startPostgres } from './storage/servers.ts'

t.setTimeout(600_000)

// Clients transfer money with a custom action, through three processes. The processes and the database are killed
// meanwhile. The rows are read with the driver of the database.

type Row = Readonly<Record<string, unknown>>

interface World {
  readonly place: Place
  readonly storage: SqlAdapter
  rows(text: string): Promise<readonly Row[]>
  /** Kills the database and starts it again; undefined if it has no process of its own. */
  readonly restart: (() => Promise<void>) | undefined
  end(): Promise<unknown>
}

const worlds: ReadonlyArray<{ readonly kind: Place['kind'], readonly skip: string | false, open(): Promise<World> }> = [
  {
    kind: 'sqlite',
    skip: false,
    async open () {
      const folder = await mkdtemp(join(tmpdir(), 'collections-transfers-'))
      const address = join(folder, 'bank.db')
      const database = new DatabaseSync(address)
      // Set once, because it is stored in the file, and concurrent processes could find it locked.
      database.exec('PRAGMA journal_mode = WAL')
      return {
        place: { kind: 'sqlite', address },
        storage: sqlite(database),
        rows: async (text) => database.prepare(text).all() as Row[],
        restart: undefined,
        end () {
          database.close()
          return rm(folder, { recursive: true })
        }
      }
    }
  },
  {
    kind: 'postgres',
    skip: false,
    async open () {
      const server = await startPostgres()
      const pool = server.pool()
      return {
        place: { kind: 'postgres', address: `postgres://postgres:postgres@127.0.0.1:${server.port}/postgres` },
        storage: postgres(pool),
        rows: async (text) => (await pool.query(text)).rows as Row[],
        async restart () {
          await server.crash()
          await server.start()
        },
        end: () => server.end()
      }
    }
  },
  {
    kind: 'mysql',
    skip: noMariadb,
    async open () {
      const server = await startMariadb()
      const pool = driver.createPool({ uri: server.url })
      return {
        place: { kind: 'mysql', address: server.url },
        storage: mysql(pool),
        // A SELECT returns rows.
        rows: async (text) => (await pool.query(text))[0] as Row[],
        async restart () {
          await server.crash()
          await server.start()
        },
        async end () {
          await pool.end()
          await server.end()
        }
      }
    }
  }
]

interface Server {
  readonly url: string
  readonly child: ChildProcess
}

const fixture = fileURLToPath(new URL('fixtures/bank-server.ts', import.meta.url))

async function startServer (place: Place): Promise<Server> {
  const child = fork(fixture, [JSON.stringify(place)], { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`A server ended with ${code} before it listened.`)
  })
  const [url] = await Promise.race([once(child, 'message'), ended]) as [string]
  ended.catch(() => {})
  return { url, child }
}

interface Transfer {
  readonly label: string
  readonly source: number
  readonly target: number
  readonly amount: number
}

const maxAttempts = 400

/**
 * Repeats the transfer with its key, at any of the servers, until one of them says that it is done, or that the balance
 * is not sufficient.
 */
async function transfer (servers: readonly Server[], { source, ...content }: Transfer): Promise<boolean> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const { url } = servers[Math.floor(Math.random() * servers.length)]!
    const response = await fetch(`${url}/accounts/${source}/transfer`, {
      method: 'POST',
      body: JSON.stringify(content),
      headers: { 'content-type': 'application/json', 'idempotency-key': `"${content.label}"` }
    }).catch(() => undefined)
    const result = await response?.json().catch(() => undefined) as { code?: string } | undefined
    if (response?.status === 200) return true
    if (result?.code === 'conflict') return false
    if (response !== undefined && ![409, 503].includes(response.status)) {
      throw new Error(`${content.label}: ${response.status} ${JSON.stringify(result)}`)
    }
    await delay(50)
  }
  throw new Error(`${content.label} was not done in ${maxAttempts} attempts`)
}

const accountIds = [1, 2, 3, 4]
const funds = 20
const clients = 6
const transfersPerClient = 15
/** After how many transfers one of the servers is killed, and the database. */
const serverKillInterval = 8
const databaseKillInterval = 30

for (const { kind, skip, open } of worlds) {
  test(`${kind}: processes and the database are killed, and no transfer is lost or done twice`, { skip }, async (t) => {
    const world = await open()
    const { accounts, outbox, ledger } = defineBank(world.storage)
    for (const definition of [accounts, outbox, ledger]) await world.storage.createTable(definition)
    const context = { signal: new AbortController().signal, scope: undefined }
    for (const id of accountIds) await accounts.storage.insert({ id, balance: funds }, context)
    const servers = await Promise.all([1, 2, 3].map(() => startServer(world.place)))
    t.teardown(async () => {
      for (const { child } of servers) child.kill('SIGKILL')
      await world.end()
    })

    let done = 0
    let kills = 0
    let restarts = 0
    let interventions = Promise.resolve()
    const onTransfer = (): void => {
      done++
      if (done % serverKillInterval === 0) {
        const index = kills++ % servers.length
        interventions = interventions.then(async () => {
          servers[index]!.child.kill('SIGKILL')
          servers[index] = await startServer(world.place)
        })
      }
      if (done % databaseKillInterval === 0 && world.restart !== undefined) {
        restarts++
        interventions = interventions.then(world.restart)
      }
    }
    const acknowledged: string[] = []
    await Promise.all(Array.from({ length: clients }, async (_, client) => {
      for (let turn = 0; turn < transfersPerClient; turn++) {
        const source = accountIds[(client + turn) % accountIds.length]!
        const target = accountIds[(client + 2 * turn + 1) % accountIds.length]!
        if (source === target) continue
        const label = `${client}.${turn}`
        if (await transfer(servers, { label, source, target, amount: 1 + turn % 5 })) acknowledged.push(label)
        onTransfer()
      }
    }))
    await interventions

    const rows = await world.rows('SELECT label, source, target, amount FROM ledger')
    const labels = rows.map(({ label }) => String(label))
    t.strictSame(labels.toSorted(), acknowledged.toSorted(), 'each acknowledged transfer is there once, and no other')
    const balances = new Map(accountIds.map((id) => [id, funds]))
    const add = (id: unknown, change: number) => balances.set(Number(id), balances.get(Number(id))! + change)
    for (const { source, target, amount } of rows) {
      add(source, -Number(amount))
      add(target, Number(amount))
    }
    const stored = await world.rows('SELECT id, balance FROM accounts ORDER BY id')
    t.strictSame(stored.map(({ id, balance }) => [Number(id), Number(balance)]), [...balances])
    t.equal(stored.reduce((sum, { balance }) => sum + Number(balance), 0), accountIds.length * funds)
    const changes = await world.rows('SELECT account, `change` FROM outbox'.replaceAll('`', kind === 'mysql' ? '`' : '"'))
    const expected = rows.flatMap(({ source, target, amount }) => [`${source} ${-Number(amount)}`, `${target} ${amount}`])
    const found = changes.map(({ account, change }) => `${account} ${change}`)
    t.strictSame(found.toSorted(), expected.toSorted(), 'the outbox has one row for each change')
    t.comment(`${acknowledged.length} transfers of ${done}, ${kills} kills of servers, ${restarts} of the database`)
  })
}
