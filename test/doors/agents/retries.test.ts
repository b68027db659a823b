import { randomUUID } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import { action } from '../../../lib/features/action.ts'
import { idempotency } from '../../../lib/features/idempotency.ts'
import { define } from '../../../lib/index.ts'
import type { HookOptions } from '../../../lib/index.ts'
import { noServers } from '../../storage/databases.ts'
import { allStorages } from '../../storages.ts'
import type { TestStorage } from '../../storages.ts'
import { startProxy } from '../batch/proxy.ts'
import { authenticate, connect, listen, serveShop } from './shop.ts'
import type { Agent } from './shop.ts'

// Agents that work on the same items over a network that repeats requests: nothing is lost, and nothing done twice.

const Counter = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  name: Type.String({ maxLength: 40 }),
  count: Type.Integer({ default: 0 })
})

type Hook = NonNullable<HookOptions<{ id: string, name: string, count: number }>['beforeValidation']>

async function openCounters (
  t: Parameters<TestStorage['open']>[0],
  storage: TestStorage,
  { lease = 30_000, beforeValidation }: { readonly lease?: number, readonly beforeValidation?: Hook } = {}
) {
  const opened = await storage.open(t)
  const counters = define({
    name: 'counters',
    schema: Counter,
    storage: opened.storage,
    access: { authenticate, allow: 'authenticated' },
    ...beforeValidation && { hooks: { beforeValidation } }
  }).with(idempotency({ lease }), action('add', {
    etag: { required: false },
    run: ({ item }) => ({ ...item, count: item.count + 1 })
  }))
  await opened.prepare(counters)
  return counters
}

/** Repeats a call with the same key and arguments until it has a result, as an agent is told to. */
async function callUntilDone (agent: Agent, name: string, given: Record<string, unknown>) {
  for (;;) {
    const result = await agent.call(name, given)
    if (result.value.code !== 'idempotency-key-in-use') return result
  }
}

const agents = 20
const itemCount = 10
const callsPerAgent = noServers === false ? 60 : 6

for (const storage of allStorages.filter(({ name }) => name === 'SQLite' || name === 'postgres')) {
  test(`${storage.name}: ${agents} agents, and a proxy that repeats one request in five`, { skip: storage.skip }, async (t) => {
    const counters = await openCounters(t, storage)
    const app = await serveShop(t, { definitions: [counters], callsPerMinute: 1_000_000 })
    const url = await listen(app)
    let requests = 0
    const proxy = await startProxy(() => url, () => requests++ % 5 === 4 ? 'repeats the request' : undefined)
    t.after(() => proxy.close())
    const calls = app.collection(counters)
    const ids: string[] = []
    for (let index = 0; index < itemCount; index++) ids.push(String((await calls.create({ name: `${index}` })).id))
    const done = { created: 0, added: 0, updated: 0, stale: 0 }

    async function work (agent: Agent, number: number): Promise<void> {
      for (let index = 0; index < callsPerAgent; index++) {
        const id = ids[(number + index * 7) % itemCount]!
        if (index % 6 === 0) {
          const item = { name: `of agent ${number}, ${index}` }
          const { isError } = await callUntilDone(agent, 'counters_create', { item, key: randomUUID() })
          if (!isError) done.created++
        } else if (index % 2 === 0) {
          const { isError } = await callUntilDone(agent, 'counters_add', { id, key: randomUUID() })
          if (!isError) done.added++
        } else {
          await update(agent, id)
        }
      }
    }

    /** Reads, decides and writes. A stale tag comes with the item to decide by. */
    async function update (agent: Agent, id: string): Promise<void> {
      let entry = (await agent.call('counters_read', { id })).value
      for (;;) {
        const { tag, item } = entry
        const given = { id, tag, patch: { count: item.count + 1 }, key: randomUUID() }
        const { isError, value } = await callUntilDone(agent, 'counters_update', given)
        if (isError !== true) {
          done.updated++
          return
        }
        if (value.current === undefined) throw new Error(JSON.stringify(value))
        done.stale++
        entry = value.current
      }
    }

    await Promise.all(Array.from({ length: agents }, async (_, number) => {
      await work(await connect(t, proxy.url, `agent-${number}`), number)
    }))
    let count = 0
    for (const id of ids) count += (await calls.read(id)).item.count
    const { value } = await calls.pages({ count: true }).next()
    t.comment(`${requests} requests, ${proxy.counts['repeats the request']} repeated, ${JSON.stringify(done)}`)
    t.ok(proxy.counts['repeats the request'] > agents, 'the proxy has repeated requests')
    t.equal(count, done.added + done.updated, 'each acknowledged change is there, once')
    t.equal(value!.total, itemCount + done.created, 'each acknowledged item is there, once')
    t.equal(done.created + done.added + done.updated, agents * callsPerAgent, 'every call was done in the end')
  })
}

for (const storage of allStorages) {
  test(`${storage.name}: a lease that expires during a slow call does not double it`, { skip: storage.skip }, async (t) => {
    let entered = 0
    let enterSecond = () => {}
    const secondEntered = new Promise<void>((resolve) => { enterSecond = resolve })
    const counters = await openCounters(t, storage, {
      lease: 100,
      // The first call is slower than its lease: it goes on when a second one has claimed the same key.
      async beforeValidation () {
        if (++entered === 2) enterSecond()
        await secondEntered
      }
    })
    const app = await serveShop(t, { definitions: [counters] })
    const agent = await connect(t, await listen(app), 'ada')
    const given = { item: { name: 'once' }, key: randomUUID() }
    // Either can be the one whose lease expires.
    const results = await Promise.all([
      callUntilDone(agent, 'counters_create', given),
      callUntilDone(agent, 'counters_create', given)
    ])
    const { value } = await app.collection(counters).pages({ count: true }).next()
    t.equal(value!.total, 1)
    for (const { value: { id } } of results) t.equal(id, value!.entries[0]!.id)
    t.ok(entered >= 2)
  })
}
