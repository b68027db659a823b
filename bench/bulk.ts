// Compares one PATCH of all items that match with single PATCHes, and with the one statement of a hand-written route.
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { bulk } from '../lib/features/bulk.ts'
import collection, { define } from '../lib/index.ts'
import { mysql } from '../lib/storage/mysql.ts'
import { postgres } from '../lib/storage/postgres.ts'
import type { SqlAdapter } from '../lib/storage/sql.ts'
import { sqlite } from '../lib/storage/sqlite.ts'
import { createFile } from './databases.ts'
import { markdown, text } from './printer.ts'
import { spread } from './statistics.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'sqlite,postgres,mysql' },
    items: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '11' },
    connections: { type: 'string', default: '10' },
    markdown: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false }
  }
})
const usage = `npm run bench:bulk -- [--markdown]
  --store        ${values.store} (mysql needs MYSQL_URL)
  --items        ${values.items} (how many match, of ten times as many)
  --rounds       ${values.rounds}
  --connections  ${values.connections} (of the single PATCHes)`

const Ticket = Type.Object({
  id: Type.Integer({ readOnly: true }),
  status: Type.String({ maxLength: 20 }),
  team: Type.Integer(),
  title: Type.String(),
  note: Type.Optional(Type.String()),
  updatedAt: Type.String({ format: 'date-time', readOnly: true })
})

interface Opened {
  readonly adapter: SqlAdapter
  /** Runs the statement of a hand-written route. */
  run (status: string, time: string): Promise<void>
  close (): Promise<void>
}

const table = 'tickets'

/** Each row gets a new version, as it does from the library. */
const updates = {
  sqlite: `UPDATE ${table} SET status = ?, "updatedAt" = ?, version = lower(hex(randomblob(16))) WHERE team = 1`,
  postgres: `UPDATE ${table} SET status = $1, "updatedAt" = $2,
    version = md5(random()::text || clock_timestamp()::text) WHERE team = 1`,
  mysql: `UPDATE ${table} SET status = ?, updatedAt = ?, version = MD5(CONCAT(RAND(), UUID())) WHERE team = 1`
}

const databases: Readonly<Record<string, () => Promise<Opened>>> = {
  async sqlite () {
    const database = new DatabaseSync(createFile())
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
    return {
      adapter: sqlite(database),
      async run (status, time) { database.prepare(updates.sqlite).run(status, time) },
      async close () { database.close() }
    }
  },
  async postgres () {
    const { startPostgres } = await import('../test/storage/servers.ts')
    const server = await startPostgres()
    const pool = server.pool()
    return {
      adapter: postgres(pool),
      async run (status, time) { await pool.query(updates.postgres, [status, time]) },
      close: () => server.end()
    }
  },
  async mysql () {
    const { mysqlPool } = await import('../test/storage/databases.ts')
    const { pool, end } = await mysqlPool()
    return {
      adapter: mysql(pool),
      async run (status, time) {
        await pool.query(updates.mysql, [status, time.replace('T', ' ').replace('Z', '')])
      },
      close: end
    }
  }
}

/** Sends a PATCH, and fails unless it is done. */
async function patch (port: number, agent: Agent, target: string, content: object): Promise<void> {
  const headers = { 'content-type': 'application/merge-patch+json' }
  const outgoing = request({ host: '127.0.0.1', port, agent, method: 'PATCH', path: target, headers })
  outgoing.end(JSON.stringify(content))
  const [response] = await once(outgoing, 'response')
  response.resume()
  await once(response, 'end')
  if (response.statusCode !== 200) throw new Error(`${target} got ${response.statusCode}`)
}

async function time (work: () => Promise<void>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

interface Figures {
  readonly single: number[]
  readonly parallel: number[]
  readonly bulk: number[]
  readonly byHand: number[]
}

interface Settings {
  readonly items: number
  readonly rounds: number
  readonly connections: number
}

async function measure ({ adapter, run }: Opened, { items, rounds, connections }: Settings): Promise<Figures> {
  const tickets = define({ name: table, schema: Ticket, id: { generate: 'storage' }, storage: adapter })
    .with(bulk({ update: true, maximum: items * 10 }))
  await adapter.createTable(tickets)
  const context = { signal: new AbortController().signal, scope: undefined }
  await tickets.storage.transaction!(async (storage) => {
    for (let index = 0; index < items * 10; index++) {
      const title = `Ticket number ${index}, which has a title of a usual length`
      const team = Math.floor(index / items)
      // The storage generates the id.
      await storage.insert({ status: 'open', team, title, updatedAt: '2026-01-01T00:00:00.000Z' } as never, context)
    }
  }, context)
  const app = Fastify()
  await app.register(collection, tickets)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const one = new Agent({ keepAlive: true, maxSockets: 1 })
  const many = new Agent({ keepAlive: true, maxSockets: connections })
  const ids = Array.from({ length: items }, (_, index) => items + index + 1)
  const figures: Figures = { single: [], parallel: [], bulk: [], byHand: [] }
  for (let round = 0; round <= rounds; round++) {
    const single = await time(async () => {
      for (const id of ids) await patch(port, one, `/${table}/${id}`, { status: `a${round}` })
    })
    const parallel = await time(async () => {
      await Promise.all(ids.map((id) => patch(port, many, `/${table}/${id}`, { status: `b${round}` })))
    })
    const together = await time(() => patch(port, one, `/${table}?team=1`, { status: `c${round}` }))
    const byHand = await time(() => run(`d${round}`, new Date().toISOString()))
    // The first round is for V8 and the caches of the database.
    if (round === 0) continue
    figures.single.push(single)
    figures.parallel.push(parallel)
    figures.bulk.push(together)
    figures.byHand.push(byHand)
  }
  one.destroy()
  many.destroy()
  await app.close()
  return figures
}

function format (values: number[]): string {
  const { median, low, high } = spread(values)
  const digits = median < 100 ? 1 : 0
  return `${median.toFixed(digits)} (${low.toFixed(digits)}-${high.toFixed(digits)})`
}

if (values.help) {
  console.log(usage)
} else {
  const [items, rounds, connections] = [Number(values.items), Number(values.rounds), Number(values.connections)]
  const lines = [['ms', `${items} PATCHes`, `over ${connections} connections`, 'one bulk PATCH', 'one statement']]
  for (const name of values.store.split(',')) {
    const opened = await databases[name]!()
    const figures = await measure(opened, { items, rounds, connections })
    await opened.close()
    lines.push([name, ...[figures.single, figures.parallel, figures.bulk, figures.byHand].map(format)])
  }
  const printer = values.markdown ? markdown : text
  printer.table(lines)
}
