import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import t, { test } from 'tap'
import { orders } from './fixtures/orders-server.ts'
import type { Doom, Plan } from './fixtures/orders-server.ts'
import { sharedDatabases, startServer } from './storage/processes.ts'
import type { AvailableDatabase, Server, SharedDatabase } from './storage/processes.ts'

t.setTimeout(600_000)

// A process that serves a collection is killed at every point of a request, while the client repeats it with the same
// key.

interface Order {
  readonly id: string
  readonly number: string
  readonly amount: number
}

/** Opens a database with the table of orders. */
async function openOrders ({ open }: AvailableDatabase): Promise<SharedDatabase> {
  const database = await open()
  await database.storage.createTable({ ...orders, receipts: true })
  return database
}

/** The rows of the database, read by the test itself. */
async function readOrders (database: SharedDatabase): Promise<readonly Order[]> {
  const rows = await database.rows('SELECT * FROM orders')
  return rows.map(({ id, number, amount }) => ({ id: String(id), number: String(number), amount: Number(amount) }))
}

function start (plan: Plan): Promise<Server> {
  return startServer('orders-server.ts', plan)
}

interface Sent {
  readonly method: string
  readonly path: string
  readonly content: unknown
  readonly key: string
}

/** Undefined without a response. */
async function send ({ url }: Server, { method, path, content, key }: Sent, signal?: AbortSignal) {
  try {
    const answer = await fetch(url + path, {
      method,
      body: JSON.stringify(content),
      headers: { 'content-type': 'application/json', 'idempotency-key': `"${key}"` },
      signal: signal ?? null
    })
    return {
      status: answer.status,
      location: answer.headers.get('location'),
      tag: answer.headers.get('etag'),
      replayed: answer.headers.get('idempotent-replayed'),
      content: (await answer.json()) as unknown
    }
  } catch {
    return undefined
  }
}

/** Retries as a client does, until the response is not 409 or 503. */
async function insist (server: Server, request: Sent) {
  for (let turn = 0; turn < 200; turn++) {
    const answer = await send(server, request)
    if (answer !== undefined && answer.status !== 409 && answer.status !== 503) return answer
    await delay(50)
  }
  throw new Error(`${request.key} had no answer`)
}

/**
 * Where the process is killed in calls of the driver: a synchronous call is never in progress, and it is
 * unknown whether a call that was sent is completed.
 */
const modes: Readonly<Record<Plan['kind'], Doom['at']>> = { sqlite: 'before', postgres: 'during', mysql: 'during' }

for (const available of sharedDatabases) {
  const { kind, skip } = available
  test(
    `${kind}: wherever the process is killed, a repeated POST creates the items once and returns them`,
    { skip, timeout: 300_000 },
    async (t) => {
      const database = await openOrders(available)
      const survivor = await start(database.place)
      t.teardown(async () => {
        survivor.child.kill()
        await once(survivor.child, 'exit')
        await database.end()
      })
      const created = new Map<string, number>()
      let deaths = 0

      /** Returns whether the process died. */
      async function attempt (doom: Doom, bulk: boolean): Promise<boolean> {
        const key = `${doom.at} ${doom.call ?? ''} ${bulk}`
        const content = bulk ? [1, 2, 3].map((amount) => ({ number: key, amount })) : { number: key, amount: 1 }
        const request = { method: 'POST', path: '/orders', content, key }
        const doomed = await start({ ...database.place, doom })
        const exit = once(doomed.child, 'exit')
        const first = await send(doomed, request)
        const died = first === undefined
        if (!died) doomed.child.kill()
        // Work after the response, such as a sweep, may also end the process.
        const [code, signal] = await exit
        t.equal(code, null, key)
        t.ok(signal === 'SIGKILL' || (!died && signal === 'SIGTERM'), key)
        created.set(key, bulk ? 3 : 1)
        const answer = await insist(survivor, request)
        t.equal(answer.status, 201, key)
        if (!died) t.same({ ...answer, replayed: null }, first, key)
        if (doom.at === 'changed' || !died) {
          t.equal(answer.replayed, 'true', 'the write was stored, and only the response was lost')
        }
        if (doom.at === 'prepare') t.equal(answer.replayed, null, 'nothing was stored yet')
        const rows = (await readOrders(database)).filter(({ number }) => number === key)
        t.same(
          rows.map(({ id }) => id).sort(),
          [answer.content]
            .flat()
            .map((item) => (item as Order).id)
            .sort(),
          `${key}: the response matches the rows`
        )
        if (!bulk) t.equal(answer.location, `/orders/${rows[0]?.id}`)
        t.same(
          { ...(await send(survivor, request)), replayed: null },
          { ...answer, replayed: null },
          `${key}: so does the next response`
        )
        if (died) deaths++
        return died
      }

      async function each (at: Doom['at'], bulk: boolean): Promise<void> {
        let call = 1
        while (call < 30 && (await attempt({ at, call }, bulk))) call++
        t.ok(call > 5 && call < 30, `${at}: every call was killed, up to ${call}`)
      }

      await Promise.all([
        attempt({ at: 'prepare' }, false),
        attempt({ at: 'changed' }, false),
        each(modes[kind], false)
      ])
      if (kind === 'sqlite') await each(modes[kind], true)
      const all = await readOrders(database)
      t.equal(
        all.length,
        [...created.values()].reduce((sum, count) => sum + count, 0),
        'nothing else was created'
      )
      t.comment(`${deaths} deaths`)
    }
  )

  test(
    `${kind}: under random kills, repeated PATCH and POST requests of many clients are applied once each`,
    { skip, timeout: 300_000 },
    async (t) => {
      const database = await openOrders(available)
      let server = await start(database.place)
      const killer = { done: false }
      t.teardown(async () => {
        server.child.kill()
        await once(server.child, 'exit')
        await database.end()
      })
      const counter = await insist(server, {
        method: 'POST',
        path: '/orders',
        content: { number: 'counter', amount: 0 },
        key: 'counter'
      })
      const killing = (async () => {
        for (let kill = 0; kill < 5; kill++) {
          await delay(Math.round(100 + Math.random() * 400))
          const next = await start(database.place)
          server.child.kill('SIGKILL')
          server = next
        }
        killer.done = true
      })()
      let serial = 0
      /** Each applied PATCH changes the tag: applied twice, it would add a version. */
      await Promise.all(
        Array.from({ length: 4 }, async (_, client) => {
          for (let turn = 0; turn < 40 && !(killer.done && turn > 3); turn++) {
            const key = `${client} ${turn} ${serial++}`
            const requests = [
              { method: 'POST', path: '/orders', content: { number: key, amount: turn }, key },
              { method: 'PATCH', path: counter.location!, content: { amount: serial }, key: `patch ${key}` }
            ]
            for (const request of requests) {
              const answers = []
              for (let tries = 0; tries < 1000 && answers.length < 2; tries++) {
                // The clients have different timeouts.
                const answer = await send(
                  server,
                  request,
                  AbortSignal.timeout(Math.round(20 + Math.random() * 20 * tries))
                )
                if (answer !== undefined && answer.status < 300) answers.push({ ...answer, replayed: null })
                else await delay(20)
              }
              t.equal(answers.length, 2, request.key)
              t.same(answers[0], answers[1], request.key)
            }
          }
        })
      )
      await killing
      const all = await readOrders(database)
      t.equal(new Set(all.map(({ number }) => number)).size, all.length, 'no number is repeated')
      t.equal(all.length, serial + 1, 'no number is missing')
    }
  )

  test(
    `${kind}: of equal requests to two processes one is applied, and the others return 409 while it runs`,
    { skip, timeout: 300_000 },
    async (t) => {
      const database = await openOrders(available)
      const [one, two, slow] = await Promise.all([
        start(database.place),
        start(database.place),
        start({ ...database.place, pauses: true })
      ])
      t.teardown(async () => {
        for (const { child } of [one, two, slow]) {
          child.kill()
          await once(child, 'exit')
        }
        await database.end()
      })
      for (let storm = 0; storm < 5; storm++) {
        const request = {
          method: 'POST',
          path: '/orders',
          content: { number: `storm ${storm}`, amount: 1 },
          key: `storm ${storm}`
        }
        const answers = await Promise.all(
          Array.from({ length: 20 }, (_, index) => send(index % 2 === 0 ? one : two, request))
        )
        t.equal(answers.filter((answer) => answer?.status === 201 && answer.replayed === null).length, 1)
        t.ok(
          answers.every((answer) => answer?.status === 201 || answer?.status === 409),
          JSON.stringify(answers.map((answer) => answer?.status))
        )
        const located = new Set(answers.flatMap((answer) => (answer?.status === 201 ? [answer.location] : [])))
        t.same([...located], [(await insist(one, request)).location])
      }
      const request = { method: 'POST', path: '/orders', content: { number: 'slow', amount: 1 }, key: 'slow' }
      const paused = once(slow.child, 'message')
      const first = send(slow, request)
      await paused
      t.match(await send(one, request), { status: 409, content: { code: 'idempotency-key-in-use' } })
      t.match(await send(one, { ...request, content: { number: 'other', amount: 2 } }), {
        status: 422,
        content: { code: 'idempotency-key-reused' }
      })
      slow.child.send('continue')
      t.match(await first, { status: 201, replayed: null })
      t.match(await send(two, request), { status: 201, replayed: 'true' })
      t.equal((await readOrders(database)).length, 6)
    }
  )
}
