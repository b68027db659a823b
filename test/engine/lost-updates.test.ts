import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { test } from 'tap'
import { action } from '../../lib/features/action.ts'
import collection, { define, ProblemError } from '../../lib/index.ts'
import { registry } from '../../lib/app/registry.ts'
import type { Transaction } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { request } from '../app.ts'
import { databases } from '../storage/databases.ts'
import type { Database } from '../storage/databases.ts'

// Transactions that list items and then write them, on every storage.

const Counter = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  n: Type.Integer({ default: 0 }),
  name: Type.String({ default: '' })
})

interface Closing {
  after(close: () => unknown): void
}

const parallel = 20

async function open (t: Closing, database: Database | undefined) {
  const adapter = database?.adapter()
  const counters = define({ name: 'counters', schema: Counter, storage: adapter ?? memory() })
    .with(action('sum', {
      on: 'collection',
      async run ({ collection }) {
        await incrementAll(async function * () {
          for await (const { id, item } of collection.list()) yield { id, n: Number(Reflect.get(item, 'n')) }
        }, (id, n) => collection.update(id, { n }))
      }
    }))
  await adapter?.createTable(counters)
  t.after(() => database?.run('DROP TABLE counters'))
  const app = Fastify()
  t.after(() => app.close())
  await app.register(registry)
  await app.register(collection, counters)
  await app.ready()
  return { app, counters, calls: app.collection(counters) }
}

async function incrementAll (
  list: () => AsyncIterable<{ id: string | number; n: number }>,
  update: (id: string | number, n: number) => Promise<unknown>
): Promise<void> {
  for await (const { id, n } of list()) await update(id, n + 1)
}

/** Calls at the same time, and returns how many have committed. The others must be refused with this problem. */
async function countCommits (call: () => Promise<unknown>): Promise<number> {
  const results = await Promise.allSettled(Array.from({ length: parallel }, call))
  return results.filter((result) => {
    if (result.status === 'fulfilled') return true
    if (result.reason instanceof ProblemError && result.reason.code === 'concurrent-update') return false
    throw result.reason
  }).length
}

for (const { name, skip, open: openDatabase } of [{ name: 'memory', skip: false as const, open: undefined }, ...databases]) {
  test(name, { skip }, async (t) => {
    const database = await openDatabase?.()
    t.after(() => database?.end())

    await t.test('what was listed and then updated by parallel transactions is not lost', async (t) => {
      const { calls } = await open(t, database)
      for (let count = 0; count < 3; count++) await calls.create({})
      let runs = 0
      const committed = await countCommits(() => calls.transaction(async (transaction) => {
        runs++
        for await (const { id, item } of calls.list({}, { transaction })) {
          await calls.update(id, { n: item.n + 1 }, { transaction })
        }
      }))
      for await (const { item } of calls.list()) t.equal(item.n, committed)
      t.equal(committed, parallel)
      t.comment(`${runs} runs`)
    })

    await t.test('the same with replace, in a custom action, and over HTTP', async (t) => {
      const { app, calls } = await open(t, database)
      await calls.create({})
      const replaced = await countCommits(() => calls.transaction(async (transaction) => {
        for await (const { id, item } of transaction.collection(counters(app)).list()) {
          await calls.replace(id, { ...item, n: item.n + 1 }, { transaction })
        }
      }))
      const responses = await Promise.all(Array.from({ length: parallel }, () => request(app, 'POST /counters/sum')))
      t.strictSame(new Set(responses.map(({ statusCode }) => statusCode)), new Set([204]))
      for await (const { item } of calls.list()) t.equal(item.n, replaced + parallel)
    })

    await t.test('a write that another transaction has done in the same way is not taken for done', async (t) => {
      const { calls } = await open(t, database)
      const { id } = await calls.create({})
      const increment = () => calls.transaction(async (transaction) => {
        const found: number[] = []
        for await (const { item } of calls.list({}, { transaction })) found.push(item.n)
        await calls.update(id, { n: found[0]! + 1 }, { transaction })
        return found[0]!
      })
      const results = await Promise.all(Array.from({ length: parallel }, increment))
      t.strictSame(results.sort((a, b) => a - b), Array.from({ length: parallel }, (_, index) => index))
    })

    await t.test('an item that has changed since it was listed is not removed', async (t) => {
      const { calls } = await open(t, database)
      const { id } = await calls.create({})
      await Promise.all(Array.from({ length: parallel }, (_, index) => calls.transaction(async (transaction) => {
        for await (const { item } of calls.list({ filter: { n: 0 } }, { transaction })) {
          if (index % 2 === 0) await calls.remove(item.id, { transaction })
          else await calls.update(item.id, { n: 1 }, { transaction })
        }
      })))
      const rest: number[] = []
      for await (const { item } of calls.list()) rest.push(item.n)
      // Whichever came first: the others list nothing.
      t.ok(rest.length === 0 || rest[0] === 1, `${id} ${rest}`)
    })

    await t.test('an item can be written several times, read again and listed again in a transaction', async (t) => {
      const { calls } = await open(t, database)
      const { id } = await calls.create({})
      let runs = 0
      await calls.transaction(async (transaction) => {
        runs++
        for (let count = 0; count < 3; count++) {
          for await (const { item } of calls.list({}, { transaction })) {
            await calls.update(id, { n: item.n + 1 }, { transaction })
            await calls.update(id, { name: `${item.n}` }, { transaction })
          }
        }
        const { item } = await calls.read(id, { transaction })
        await calls.update(id, { n: item.n + 1 }, { transaction })
        for await (const { item } of calls.list({}, { transaction })) await calls.remove(item.id, { transaction })
        await calls.create({ n: 10 }, { transaction })
      })
      const rest: number[] = []
      for await (const { item } of calls.list()) rest.push(item.n)
      t.strictSame([runs, rest], [1, [10]])
    })

    await t.test('what SQL of the app has changed since it was listed has to be read before it is written', async (t) => {
      const { calls } = await open(t, database)
      if (database === undefined) return
      const { id } = await calls.create({})
      const write = (reads: boolean) => calls.transaction(async (transaction) => {
        for await (const { item } of calls.list({}, { transaction })) t.equal(item.n, 0)
        await runSql(transaction, "UPDATE counters SET n = 5, version = 'changed'")
        if (reads) t.equal((await calls.read(id, { transaction })).item.n, 5)
        await calls.update(id, { name: 'new' }, { transaction })
      })
      await t.rejects(write(false), { code: 'concurrent-update' })
      t.match((await calls.read(id)).item, { n: 0, name: '' })
      await write(true)
      t.match((await calls.read(id)).item, { n: 5, name: 'new' })
    })

    await t.test('an error that the app catches does not commit the rest', async (t) => {
      const { calls } = await open(t, database)
      const ids = [(await calls.create({})).id, (await calls.create({})).id]
      const committed = await countCommits(() => calls.transaction(async (transaction) => {
        const seen = new Map<unknown, number>()
        for await (const { item } of calls.list({}, { transaction })) seen.set(item.id, item.n)
        for (const id of ids) await calls.update(id, { n: seen.get(id)! + 1 }, { transaction }).catch(() => {})
      }))
      for (const id of ids) t.equal((await calls.read(id)).item.n, committed)
    })
  })
}

/** The definition that the app serves. */
function counters (app: FastifyInstance) {
  return app.collections[0]!.collection as ReturnType<typeof define<typeof Counter>>
}

async function runSql ({ client }: Transaction, text: string): Promise<void> {
  const driver = client as { exec?(text: string): void; query?(text: string): Promise<unknown> }
  if (driver.exec !== undefined) driver.exec(text)
  else await driver.query!(text)
}
