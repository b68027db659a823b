import { setImmediate as nextTurn } from 'node:timers/promises'
import { DatabaseSync } from 'node:sqlite'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import { action } from '../../lib/features/action.ts'
import { bulk } from '../../lib/features/bulk.ts'
import { define } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'
import { sendBatch, serveShop } from '../doors/batch/shop.ts'

// Long work on a storage that answers in the same turn of the event loop lets other requests and timers run.

const Thing = Type.Object({
  id: Type.Integer(),
  size: Type.Optional(Type.Integer()),
  note: Type.Optional(Type.String())
})

async function serveThings (t: Test, kind: string, timeout = 10_000) {
  const database = sqlite(new DatabaseSync(':memory:'))
  const storage = kind === 'memory' ? memory() : database
  const things = define({ name: 'things', schema: Thing, id: { generate: 'client' }, storage }).with(
    bulk({ update: true, remove: true, maximum: 10_000 }),
    action('wait', {
      on: 'collection',
      safe: true,
      run: () => {
        // No timer runs before it returns.
        const end = Date.now() + 50
        while (Date.now() < end);
      }
    })
  )
  if (storage === database) await database.createTable(things)
  return { things, app: await serveShop(t, { things }, { timeout }) }
}

/** Returns how many turns of the event loop the work takes. */
async function countTurns (work: () => Promise<unknown>): Promise<number> {
  const state = { isDone: false, count: 0 }
  const counting = (async () => {
    for (; !state.isDone; state.count++) await nextTurn()
  })()
  await work()
  state.isDone = true
  await counting
  return state.count
}

async function countTurnsOf (app: FastifyInstance, send: () => Promise<{ readonly statusCode: number }>) {
  await app.ready()
  let statusCode: number | undefined
  const turns = await countTurns(async () => { ({ statusCode } = await send()) })
  return { turns, statusCode }
}

for (const kind of ['memory', 'sqlite']) {
  test(`${kind}: a batch yields after each part`, async (t) => {
    const { app, things } = await serveThings(t, kind)
    await app.collection(things).create({ id: 1 })
    const parts = Array.from({ length: 100 }, () => ({ method: 'GET', path: '/things/1' }))
    const { turns, statusCode } = await countTurnsOf(app, () => sendBatch(app, parts))
    t.equal(statusCode, 200)
    t.ok(turns >= 100, `${turns} turns`)
  })

  test(`${kind}: the timeout of a batch ends it between two parts`, async (t) => {
    const { app } = await serveThings(t, kind, 20)
    const wait = { method: 'POST', path: '/things/wait' }
    const response = await sendBatch(app, [wait, { method: 'GET', path: '/things' }])
    t.equal(response.statusCode, 503)
    t.match(response.json(), { code: 'timeout', detail: /Nothing was changed/ })
  })

  test(`${kind}: writes of many items yield every few items`, async (t) => {
    const { app, things } = await serveThings(t, kind)
    const items = Array.from({ length: 5000 }, (_, id) => ({ id, size: 1 }))
    const created = await countTurnsOf(app, () => app.inject({ method: 'POST', url: '/things', payload: items }))
    t.equal(created.statusCode, 201)
    t.ok(created.turns >= 250, `${created.turns} turns`)
    let other: number | undefined
    const updated = await countTurnsOf(app, async () => {
      const response = app.inject({ method: 'PATCH', url: '/things?size=1', payload: { size: 2 } })
      await nextTurn()
      // Another write waits for the transaction, so it is not lost in it.
      other = (await app.inject({ method: 'PUT', url: '/things/7', payload: { id: 7, size: 3 } })).statusCode
      return response
    })
    t.strictSame([updated.statusCode, other], [200, 200])
    t.ok(updated.turns >= 250, `${updated.turns} turns`)
    t.match(await app.collection(things).read(7), { item: { size: 3 } })
    t.match(await app.collection(things).read(8), { item: { size: 2 } })
  })

  test(`${kind}: a PATCH of several items yields after each long one`, async (t) => {
    const { app, things } = await serveThings(t, kind)
    await app.collection(things).createMany(Array.from({ length: 50 }, (_, id) => ({ id, size: 1 })))
    const counts = []
    for (const length of [10, 30_000]) {
      counts.push(await countTurnsOf(app, () => {
        return app.inject({ method: 'PATCH', url: '/things?size=1', payload: { note: 'x'.repeat(length) } })
      }))
    }
    const [short, long] = counts
    t.strictSame([short!.statusCode, long!.statusCode], [200, 200])
    t.ok(long!.turns - short!.turns >= 40, `${short!.turns} and ${long!.turns} turns`)
  })
}
