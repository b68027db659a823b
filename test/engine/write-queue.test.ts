import { setImmediate, setTimeout as delay } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import type pg from 'pg'
import { test } from 'tap'
import { action } from '../../lib/features/action.ts'
import { idempotency } from '../../lib/features/idempotency.ts'
import collection, { define } from '../../lib/index.ts'
import { registry } from '../../lib/app/registry.ts'
import type { Definition, HookOptions } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { mysql } from '../../lib/storage/mysql.ts'
import { postgres } from '../../lib/storage/postgres.ts'
import { ada, build, created, modified, request, users } from '../app.ts'
import { databases, mysqlPool, noMysql, noServers } from '../storage/databases.ts'
import { startPostgres } from '../storage/servers.ts'

// Writes to one item that meet in one process.

const Counter = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  n: Type.Integer({ default: 0 }),
  marks: Type.Record(Type.String(), Type.Integer(), { default: {} })
})

interface CounterItem {
  id: string
  n: number
  marks: Record<string, number>
}

interface Closing {
  after(close: () => unknown): void
}

async function serve (t: Closing, ...definitions: Definition[]): Promise<FastifyInstance> {
  const app = Fastify()
  t.after(() => app.close())
  await app.register(registry)
  for (const definition of definitions) await app.register(collection, definition)
  await app.ready()
  return app
}

function gate (): { opened: Promise<void>; open(): void } {
  let open!: () => void
  const opened = new Promise<void>((resolve) => { open = resolve })
  return { opened, open }
}

/**
 * Replaces the time after which a queued write starts although another one runs. `npm test` gives this file a process
 * of its own, because it replaces a global.
 */
function limitWait (t: Closing, milliseconds: number | undefined): void {
  const { setTimeout: timer } = globalThis
  t.after(() => { globalThis.setTimeout = timer })
  globalThis.setTimeout = Object.assign((work: () => void, after?: number) => {
    if (after !== 5000) return timer(work, after)
    return timer(milliseconds === undefined ? () => {} : work, milliseconds ?? 0)
  }, timer)
}

const times = <Result>(count: number, call: (index: number) => Promise<Result>): Promise<Result[]> => {
  return Promise.all(Array.from({ length: count }, (_, index) => call(index)))
}

for (const { name, skip, open } of [{ name: 'memory', skip: false as const, open: undefined }, ...databases]) {
  test(`${name}: 100 PATCHes of one item with a slow hook call it 100 times, and none is 409`, { skip }, async (t) => {
    const database = await open?.()
    t.after(() => database?.end())
    const adapter = database?.adapter()
    const calls = { beforeValidation: 0, beforeWrite: 0 }
    const hooks: HookOptions<CounterItem> = {
      async beforeValidation ({ action, item }) {
        if (action === 'update') calls.beforeValidation++
        await delay(2)
        return item as CounterItem
      }
    }
    const plain = define({ name: 'plain', schema: Counter, storage: adapter ?? memory(), hooks })
    const inTransaction = define({
      name: 'in_transaction',
      schema: Counter,
      storage: adapter ?? memory(),
      hooks: {
        ...hooks,
        async beforeWrite ({ action }) {
          if (action === 'update') calls.beforeWrite++
          await setImmediate()
        }
      }
    }).with(idempotency())
    const app = await serve(t, plain, inTransaction)
    for (const definition of [plain, inTransaction]) {
      await adapter?.createTable(definition)
      calls.beforeValidation = calls.beforeWrite = 0
      const { id } = await app.collection(definition).create({})
      const responses = await times(100, (index) => request(app, `PATCH /${definition.name}/${id}`, {
        content: { marks: { [`key ${index}`]: index } }
      }))
      t.strictSame(new Set(responses.map(({ statusCode }) => statusCode)), new Set([200]))
      t.equal(calls.beforeValidation, 100)
      t.equal(calls.beforeWrite, definition === plain ? 0 : 100)
      const { item } = await app.collection(definition).read(id)
      t.equal(Object.keys(item.marks).length, 100, 'all patches are applied')
    }
  })
}

const increment = (run: () => Promise<void>) => action('increment', {
  async run ({ item }) {
    await run()
    return { ...item, n: Number(Reflect.get(item, 'n')) + 1 }
  }
})

test('postgres: 100 custom actions on one item use one connection', { skip: noServers }, async (t) => {
  const server = await startPostgres()
  t.after(() => server.end())
  const pool: pg.Pool = server.pool({ max: 10 })
  const storage = postgres(pool)
  let busiest = 0
  const counters = define({ name: 'counters', schema: Counter, storage }).with(increment(async () => {
    await delay(2)
    t.equal(pool.waitingCount, 0, 'nothing waits for a connection')
    busiest = Math.max(busiest, pool.totalCount - pool.idleCount)
  }))
  await storage.createTable(counters)
  const app = await serve(t, counters)
  const { id } = await app.collection(counters).create({})
  const responses = await times(100, () => request(app, `POST /counters/${id}/increment`))
  t.strictSame(new Set(responses.map(({ statusCode }) => statusCode)), new Set([200]))
  t.equal((await app.collection(counters).read(id)).item.n, 100)
  t.equal(busiest, 1)
})

test('mysql: 100 custom actions on one item use one connection', { skip: noMysql }, async (t) => {
  const { pool, name, end } = await mysqlPool({ connectionLimit: 10 })
  t.after(end)
  const storage = mysql(pool)
  const other = await mysqlPool()
  t.after(other.end)
  let busiest = 0
  const counters = define({ name: 'counters', schema: Counter, storage }).with(increment(async () => {
    const [rows] = await other.pool.query(`SELECT COUNT(*) AS busy FROM information_schema.INNODB_TRX
      JOIN information_schema.PROCESSLIST ON ID = trx_mysql_thread_id WHERE DB = '${name}'`)
    const [{ busy } = { busy: 0 }] = rows as Array<{ busy: number }>
    busiest = Math.max(busiest, busy)
  }))
  await storage.createTable(counters)
  const app = await serve(t, counters)
  const { id } = await app.collection(counters).create({})
  const responses = await times(100, () => request(app, `POST /counters/${id}/increment`))
  t.strictSame(new Set(responses.map(({ statusCode }) => statusCode)), new Set([200]))
  t.equal((await app.collection(counters).read(id)).item.n, 100)
  t.equal(busiest, 1, 'open transactions')
})

test('a safe action does not wait for writes', async (t) => {
  const [started, release] = [gate(), gate()]
  const counters = define({
    name: 'counters',
    schema: Counter,
    storage: memory(),
    hooks: {
      async beforeValidation ({ action, item }) {
        if (action === 'update') {
          started.open()
          await release.opened
        }
        return item as CounterItem
      }
    }
  }).with(action('look', { safe: true, output: Type.Object({ n: Type.Integer() }), run: ({ item }) => ({ output: { n: item.n } }) }))
  const app = await serve(t, counters)
  const { id } = await app.collection(counters).create({})
  const patched = request(app, `PATCH /counters/${id}`, { content: { n: 1 } })
  await started.opened
  t.strictSame((await request(app, `POST /counters/${id}/look`)).json(), { n: 0 })
  release.open()
  t.equal((await patched).statusCode, 200)
})

test('a write whose hook never ends makes way when its request is aborted', async (t) => {
  limitWait(t, undefined)
  const [started, release] = [gate(), gate()]
  const counters = define({
    name: 'counters',
    schema: Counter,
    storage: memory(),
    hooks: {
      async beforeValidation ({ item }) {
        if (item.n === 1) {
          started.open()
          await release.opened
        }
        return item as CounterItem
      }
    }
  })
  const app = await serve(t, counters)
  const { id } = await app.collection(counters).create({})
  const controller = new AbortController()
  const hanging = app.collection(counters).update(id, { n: 1 }, { signal: controller.signal }).catch(() => {})
  await started.opened
  const waiting = request(app, `PATCH /counters/${id}`, { content: { n: 2 } })
  await setImmediate()
  controller.abort()
  t.equal((await waiting).statusCode, 200)
  t.equal((await request(app, `PATCH /counters/${id}`, { content: { n: 3 } })).statusCode, 200)
  release.open()
  await hanging
  t.equal((await request(app, `PATCH /counters/${id}`, { content: { marks: { a: 1 } } })).statusCode, 200, 'it is free')
})

test('a write that was aborted before its turn, and whose hook never ends, holds up no other', async (t) => {
  limitWait(t, undefined)
  const started = gate()
  const controller = new AbortController()
  const counters = define({
    name: 'counters',
    schema: Counter,
    storage: memory(),
    access: {
      allow: ({ caller }) => {
        if (caller === 'hanging') controller.abort()
        return true
      }
    },
    hooks: {
      async beforeValidation ({ item, caller }) {
        if (caller === 'hanging') {
          started.open()
          await new Promise(() => {})
        }
        return item as CounterItem
      }
    }
  })
  const app = await serve(t, counters)
  const { id } = await app.collection(counters).create({})
  const options = { caller: 'hanging', signal: controller.signal }
  app.collection(counters).update(id, { n: 1 }, options).catch(() => started.open())
  await started.opened
  t.equal((await app.collection(counters).update(id, { n: 2 })).item.n, 2)
})

test('a write that is aborted while it waits never begins', async (t) => {
  limitWait(t, undefined)
  const [started, release] = [gate(), gate()]
  const seen: number[] = []
  const counters = define({
    name: 'counters',
    schema: Counter,
    storage: memory(),
    hooks: {
      async beforeValidation ({ action, item }) {
        if (action === 'update') {
          seen.push(Number(item.n))
          started.open()
          await release.opened
        }
        return item as CounterItem
      }
    }
  })
  const app = await serve(t, counters)
  const calls = app.collection(counters)
  const { id } = await calls.create({})
  const first = calls.update(id, { n: 1 })
  await started.opened
  const controller = new AbortController()
  const aborted = [calls.update(id, { n: 2 }, controller), calls.update(id, { n: 3 }, controller)]
  const last = calls.update(id, { n: 4 })
  await setImmediate()
  controller.abort()
  for (const call of aborted) {
    t.match(await call.catch((error: unknown) => error), { unreachable: true, hasNoEffect: true })
  }
  await t.rejects(calls.update(id, { n: 5 }, { signal: AbortSignal.abort() }))
  release.open()
  t.equal((await first).item.n, 1)
  t.equal((await last).item.n, 4)
  t.strictSame(seen, [1, 4])
})

test('hooks that write to the item of another write do not wait for each other', async (t) => {
  limitWait(t, undefined)
  const ids: string[] = []
  const arrived = new Map([[0, gate()], [1, gate()]])
  const counters: Definition<CounterItem> = define({
    name: 'counters',
    schema: Counter,
    storage: memory(),
    hooks: {
      async beforeValidation ({ action, item, request }) {
        // Once for each of the two requests, when both run.
        if (action !== 'update' || request === undefined || request.headers['x-again'] !== undefined) {
          return item as CounterItem
        }
        request.headers['x-again'] = 'true'
        const own = ids.indexOf(String(item.id))
        arrived.get(own)!.open()
        await arrived.get(1 - own)!.opened
        await app.collection(counters).update(ids[1 - own]!, { marks: { other: own } })
        await app.collection(counters).update(ids[own]!, { marks: { self: own } })
        return item as CounterItem
      }
    }
  })
  const app: FastifyInstance = await serve(t, counters)
  for (let count = 0; count < 2; count++) ids.push(String((await app.collection(counters).create({})).id))
  const responses = await times(2, (index) => request(app, `PATCH /counters/${ids[index]}`, { content: { n: 1 } }))
  t.strictSame(responses.map(({ statusCode }) => statusCode), [200, 200])
  for (const [index, id] of ids.entries()) {
    const { item } = await app.collection(counters).read(id)
    t.strictSame(item, { id, n: 1, marks: { other: 1 - index, self: index } })
  }
})

test('nested writes to one item are queued as well', async (t) => {
  let calls = 0
  const totals = define({
    name: 'totals',
    schema: Counter,
    storage: memory(),
    hooks: {
      async beforeValidation ({ action, item }) {
        if (action === 'update') calls++
        await setImmediate()
        return item as CounterItem
      }
    }
  })
  const orders = define({
    name: 'orders',
    schema: Counter,
    storage: memory(),
    hooks: {
      async beforeValidation ({ action, item }) {
        if (action === 'update') await app.collection(totals).update(total, { marks: { [String(item.id)]: 1 } })
        return item as CounterItem
      }
    }
  })
  const app: FastifyInstance = await serve(t, totals, orders)
  const total = (await app.collection(totals).create({})).id
  const ids = await times(50, async () => (await app.collection(orders).create({})).id)
  const responses = await Promise.all(ids.map((id) => request(app, `PATCH /orders/${id}`, { content: { n: 1 } })))
  t.strictSame(new Set(responses.map(({ statusCode }) => statusCode)), new Set([200]))
  t.equal(Object.keys((await app.collection(totals).read(total)).item.marks).length, 50)
  t.equal(calls, 50)
})

test('a hook that waits for a later write in an unknown way ends', async (t) => {
  limitWait(t, 10)
  const later = gate()
  const counters = define({
    name: 'counters',
    schema: Counter,
    storage: memory(),
    hooks: {
      async beforeValidation ({ action, item }) {
        if (action === 'update' && item.n === 1) await later.opened
        return item as CounterItem
      },
      afterCommit ({ after }) {
        if (after?.n === 2) later.open()
      }
    }
  })
  const app = await serve(t, counters)
  const { id } = await app.collection(counters).create({})
  const responses = await times(2, (index) => request(app, `PATCH /counters/${id}`, { content: { n: index + 1 } }))
  t.strictSame(responses.map(({ statusCode }) => statusCode), [200, 200])
})

test('the next writer of the same item does not wait for afterCommit', async (t) => {
  // Each write collides once, and is then queued.
  let writes = 0
  const storage = modified((storage) => ({
    replace: async (...args) => (writes++ % 2 === 0 ? { refused: 'stale' } : storage.replace(...args))
  }))
  const [first, second] = [gate(), gate()]
  const app = await build(
    t,
    users({
      storage,
      hooks: {
        async afterCommit ({ after }) {
          if (after?.name === 'First') {
            first.open()
            await second.opened
          } else if (after?.name === 'Second') {
            second.open()
          }
        }
      }
    })
  )
  const { at } = await created(app, '/users', ada)
  limitWait(t, undefined)
  const patch = (name: string) => request(app, `PATCH ${at}`, { content: { name } })
  const one = patch('First')
  await first.opened
  const both = Promise.all([one, patch('Second')]).then((answers) => answers.map(({ statusCode }) => statusCode))
  t.same(await Promise.race([both, delay(5000, 'stuck', { ref: false })]), [200, 200])
  second.open()
  await both
})
