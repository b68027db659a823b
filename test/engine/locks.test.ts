import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { test } from 'tap'
import { action } from '../../lib/features/action.ts'
import collection, { define, problem } from '../../lib/index.ts'
import { registry } from '../../lib/app/registry.ts'
import type { Definition } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { request } from '../app.ts'
import { databases, noServers } from '../storage/databases.ts'
import type { Database } from '../storage/databases.ts'
import { startPostgres } from '../storage/servers.ts'

// Transactions that write to several items, on every storage.

const Account = Type.Object({
  id: Type.Integer(),
  balance: Type.Integer({ minimum: 0 }),
  owner: Type.String({ default: 'ada' })
})
const Transfer = Type.Object({
  from: Type.Integer(),
  to: Type.Integer(),
  amount: Type.Integer({ minimum: 1 })
})

interface Closing {
  after(close: () => unknown): void
}

const accountIds = [1, 2, 3, 10]
const funds = 1000

async function openBank (t: Closing, database: Database | undefined) {
  const adapter = database?.adapter()
  const counts = { transfer: 0, send: 0 }
  const accounts = define({
    name: 'accounts',
    schema: Account,
    id: { generate: 'client' },
    storage: adapter ?? memory(),
    access: {
      allow: 'public',
      scope: ({ caller }) => caller === undefined ? undefined : { values: { owner: String(caller) } }
    }
  }).with(
    action('transfer', {
      on: 'collection',
      input: Transfer,
      async run ({ input: { from, to, amount }, collection, transaction }) {
        counts.transfer++
        const [source, target] = await transaction.lock(collection, [from, to])
        if (source.item.balance < amount) throw problem('conflict', { detail: 'The balance is not sufficient.' })
        await collection.update(from, { balance: source.item.balance - amount })
        await collection.update(to, { balance: target.item.balance + amount })
      }
    }),
    action('send', {
      input: Type.Object({ to: Type.Integer() }),
      async run ({ item, input: { to }, collection }) {
        counts.send++
        const { item: { balance } } = await collection.read(to)
        await collection.update(to, { balance: balance + 1 })
        return { ...item, balance: item.balance - 1 }
      }
    })
  )
  await adapter?.createTable(accounts)
  t.after(() => database?.run('DROP TABLE accounts'))
  const app = Fastify()
  t.after(() => app.close())
  await app.register(registry)
  await app.register(collection, accounts)
  await app.ready()
  const calls = app.collection(accounts)
  for (const id of accountIds) await calls.create({ id, balance: funds })
  const total = async () => {
    let sum = 0
    for await (const { item } of calls.list()) sum += item.balance
    return sum
  }
  return { app, accounts, calls, counts, total }
}

/** Pairs of different accounts, in both directions. */
function getPair (index: number): [from: number, to: number] {
  const from = index % accountIds.length
  const step = 1 + Math.floor(index / accountIds.length) % (accountIds.length - 1)
  return [accountIds[from]!, accountIds[(from + step) % accountIds.length]!]
}

for (const { name, skip, open } of [{ name: 'memory', skip: false as const, open: undefined }, ...databases]) {
  test(name, { skip }, async (t) => {
    const database = await open?.()
    t.after(() => database?.end())

    await t.test('200 transfers at once that lock both items are all done, each in one run', async (t) => {
      const { app, calls, accounts, counts, total } = await openBank(t, database)
      const responses = await Promise.all(Array.from({ length: 200 }, (_, index) => {
        const [from, to] = getPair(index)
        return request(app, 'POST /accounts/transfer', { content: { from, to, amount: 1 + index % 3 } })
      }))
      t.strictSame(new Set(responses.map(({ statusCode }) => statusCode)), new Set([204]))
      t.equal(counts.transfer, 200, 'no deadlock has repeated one')
      let runs = 0
      await Promise.all(Array.from({ length: 50 }, (_, index) => calls.transaction(async (transaction) => {
        runs++
        const [source, target] = await transaction.lock(accounts, getPair(index))
        await calls.update(source.id, { balance: source.item.balance - 1 }, { transaction })
        await calls.update(target.id, { balance: target.item.balance + 1 }, { transaction })
      })))
      t.equal(runs, 50)
      t.equal(await total(), accountIds.length * funds)
    })

    await t.test('transfers that lock in any order are repeated, and all done', async (t) => {
      const { app, counts, total } = await openBank(t, database)
      const responses = await Promise.all(Array.from({ length: 60 }, (_, index) => {
        const [from, to] = getPair(index)
        return request(app, `POST /accounts/${from}/send`, { content: { to } })
      }))
      t.strictSame(new Set(responses.map(({ statusCode }) => statusCode)), new Set([200]))
      t.equal(await total(), accountIds.length * funds)
      t.comment(`${counts.send} runs`)
    })

    await t.test('the items are in the order of the ids, and must all exist', async (t) => {
      const { calls, accounts } = await openBank(t, database)
      await calls.transaction(async (transaction) => {
        const found = await transaction.lock(accounts, [10, 1, 2, 1, 10])
        t.strictSame(found.map(({ id, item }) => [id, item.balance]), [10, 1, 2, 1, 10].map((id) => [id, funds]))
        t.strictSame(await transaction.lock(accounts, []), [])
        await t.rejects(transaction.lock(accounts, [1, 4]), { code: 'not-found' })
        await t.rejects(transaction.lock(accounts, [1], { caller: 'bob' }), { code: 'not-found' })
        t.equal((await transaction.lock(accounts, [1], { caller: 'ada' }))[0].item.owner, 'ada')
        const [updated] = await transaction.lock(transaction.collection(accounts), [2])
        await calls.update(2, { balance: updated.item.balance - 1 }, { transaction })
        t.equal((await transaction.lock(calls, [2]))[0].item.balance, funds - 1)
      })
    })
  })
}

const Note = Type.Object({ id: Type.String({ format: 'uuid', readOnly: true }), text: Type.String() })

interface Line {
  readonly level: number
  readonly msg: string
  readonly reason?: string
}

/** Creates an item that the storage refuses each time, and returns the response and the lines of the log. */
async function createContended (t: Closing, notes: Definition) {
  const lines: string[] = []
  const app = Fastify({ logger: { level: 'warn', stream: { write: (line: string) => { lines.push(line) } } } })
  t.after(() => app.close())
  await app.register(collection, notes)
  return { response: await request(app, 'POST /notes', { content: { text: 'x' } }), lines }
}

test('sqlite: a file that stays locked is 503, with a short line in the log', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'collections-locked-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const [database, other] = [new DatabaseSync(join(folder, 'a.db')), new DatabaseSync(join(folder, 'a.db'))]
  t.after(() => { for (const one of [database, other]) one.close() })
  const storage = sqlite(database)
  const notes = define({ name: 'notes', schema: Note, storage })
  await storage.createTable(notes)
  other.exec('BEGIN IMMEDIATE')
  const { response, lines } = await createContended(t, notes)
  t.equal(response.statusCode, 503)
  t.equal(response.headers['retry-after'], '1')
  t.match(response.json().detail, /^Other requests changed the same data each time\./)
  t.equal(lines.length, 1)
  t.ok(lines[0]!.length < 400, lines[0]!)
  t.match(JSON.parse(lines[0]!) as Line, { level: 40, msg: 'request failed', reason: /database is locked$/ })
})

test('postgres: a deadlock each time is 503, with a short line in the log', { skip: noServers }, async (t) => {
  const server = await startPostgres()
  t.after(() => server.end())
  const pool = server.pool()
  const storage = postgres(pool)
  const notes = define({
    name: 'notes',
    schema: Note,
    storage,
    hooks: {
      async beforeWrite ({ transaction }) {
        const client = transaction.client as { query (text: string): Promise<unknown> }
        await client.query("DO $$ BEGIN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'; END $$")
      }
    }
  })
  await storage.createTable(notes)
  const { response, lines } = await createContended(t, notes)
  t.equal(response.statusCode, 503)
  t.match(response.json(), { code: 'storage-unavailable', detail: /^Other requests changed the same data each time\./ })
  t.equal(lines.length, 1)
  t.ok(lines[0]!.length < 400, lines[0]!)
  t.match(JSON.parse(lines[0]!) as Line, { level: 40, msg: 'request failed', reason: /deadlock detected$/ })
})
