import { execFile } from 'node:child_process'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import Fastify from 'fastify'
import { test } from 'tap'
import { contestants, relatedContestants, start } from '../bench/contestants.ts'
import { openSqlite } from '../bench/databases.ts'
import { Load } from '../bench/failover/load.ts'
import { defineOrders } from '../bench/failover/orders.ts'
import { startRelated } from '../bench/related-server.ts'
import { peers } from '../bench/peers.ts'
import {
  commonScenarios,
  createClient,
  depths,
  getNext,
  getScenario,
  relatedList,
  requestsPerWrite,
  scenarios
} from '../bench/scenarios.ts'
import type { Client, Scenario, Step } from '../bench/scenarios.ts'
import { fill } from '../bench/storages.ts'
import { findKindConditions } from '../bench/structure/kinds.ts'
import { findTypeCircles } from '../bench/structure/imports.ts'
import type { User } from '../bench/user.ts'
import collection from '../lib/index.ts'
import type { Adapter, Shape } from '../lib/storage/index.ts'
import { memory } from '../lib/storage/memory.ts'
import { sqlite } from '../lib/storage/sqlite.ts'
import { Wire } from './wire.ts'
import type { WireAnswer } from './wire.ts'

// A comparison is valid only if the contestants send equal responses.

interface Comparable {
  readonly status: number
  readonly fields: Readonly<Record<string, string>>
  readonly content: unknown
}

/** Text that differs between requests, between processes, by the form of cursors and tags, or by the words of Ajv. */
function alike (text: string): string {
  return text
    .replace(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, 'id')
    .replace(/(cursor|after)=[^>]*/g, 'position')
    .replace(/"createdAt":"[^"]*"/g, '"createdAt":""')
    .replace(/new\d+@/g, 'new@')
    .replace('must NOT have fewer than 1 characters', 'must have at least 1 character')
    .replace(/; charset=utf-8/, '')
}

function toComparable ({ status, fields, content }: WireAnswer): Comparable {
  const { date, 'content-length': _length, ...rest } = fields
  const values = Object.fromEntries(
    Object.entries(rest)
      .sort()
      .map(([name, value]) => [name, name === 'etag' ? '"tag"' : alike(value)])
  )
  return { status, fields: values, content: content.length === 0 ? undefined : JSON.parse(alike(content.toString())) }
}

const createFirst = (): Client => createClient({ number: 0, connections: 1, items: 1000, padding: '', turn: 0 })

/** How many turns are compared. The other scenarios are writes, or have one kind of request. */
const comparedTurns: Readonly<Record<string, number>> = { list: 10, 'list filtered': 10 }

/** The responses of a contestant to all steps of its scenarios. */
async function collectAnswers (
  name: string,
  adapter: Adapter<User> = memory(),
  table?: (shape: Shape) => Promise<void>,
  names: readonly string[] = commonScenarios
): Promise<Map<string, Comparable>> {
  let filled: Promise<void> | undefined
  const server = await start(name, (shape) => {
    const storage = adapter(shape)
    filled = Promise.resolve(table?.(shape)).then(() => fill(storage, 1000))
    return storage
  })
  await filled
  const wire = new Wire((server.address() as AddressInfo).port)
  const found = new Map<string, Comparable>()
  for (const scenario of names) {
    const client = createFirst()
    const send = async (step: Step): Promise<Comparable> => {
      wire.socket.write(step.request(client))
      const answer = await wire.answer()
      client.tag = answer.fields['etag'] ?? ''
      client.location = answer.fields['location'] ?? ''
      client.next = getNext(answer.fields['link'] ?? '')
      return toComparable(answer)
    }
    const { prepare, steps = [] } = getScenario(name, scenario) ?? {}
    if (prepare !== undefined) {
      found.set(`${scenario}, preparation`, await send(prepare))
      prepare.isPrepared(client)
      client.turn = 0
    }
    for (; client.turn < (comparedTurns[scenario] ?? 1); client.turn++) {
      for (const [index, step] of steps.entries()) {
        found.set(`${scenario}, turn ${client.turn}, step ${index + 1}`, await send(step))
      }
    }
  }
  wire.close()
  await new Promise((resolve) => server.close(resolve))
  return found
}

test('a list with related items is the same, hand-written and by the library', async (t) => {
  const bodies = new Map<string, string>()
  for (const name of relatedContestants) {
    const server = await startRelated(name, 'sqlite')
    t.teardown(() => server.close())
    const { port } = server.address() as AddressInfo
    const [step] = getScenario(name, relatedList)!.steps
    const [, path = ''] = step!.request(createFirst()).split(' ')
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } })
    t.equal(response.status, 200)
    t.equal(response.headers.has('etag'), name !== 'related plain')
    bodies.set(name, await response.text())
  }
  const [ours, ...others] = bodies.values()
  t.equal(JSON.parse(ours!)[19].comments.items.length, 5)
  for (const other of others) t.equal(other, ours)
})

/** The requests of one connection in so many turns, one after another. */
function collectRequests ({ prepare, steps }: Scenario, turns: number): string[] {
  const client = createClient({ number: 5, connections: 8, items: 1000, padding: '', turn: 0 })
  for (let page = 1, isPrepared = prepare === undefined; !isPrepared; page++) {
    prepare!.request(client)
    client.tag = `"${page}"`
    client.next = page < 50 ? `/users?cursor=${page}` : ''
    isPrepared = prepare!.isPrepared(client)
  }
  return Array.from({ length: turns }, () => {
    const sent = steps.map((step) => step.request(client)).join('')
    client.turn++
    client.location = `/users/${client.turn}`
    return sent
  })
}

test('the requests of each scenario differ, for every contestant', async (t) => {
  for (const name of [...Object.keys(contestants), ...Object.keys(peers)]) {
    for (const scenario of Object.keys(scenarios)) {
      const found = getScenario(name, scenario)
      if (found === undefined) continue
      t.ok(new Set(collectRequests(found, 2000)).size >= 120, `${name}: ${scenario}`)
    }
  }
  for (const [name, scenario] of Object.entries(depths)) {
    t.ok(new Set(collectRequests(scenario, 2000)).size >= 20, name)
  }
})

test('lists are requested with 200 filters, some far more often, and with some writes in between', async (t) => {
  for (const name of [...Object.keys(contestants), ...Object.keys(peers)]) {
    for (const scenario of ['list', 'list filtered']) {
      const sent = collectRequests(getScenario(name, scenario)!, 4000)
      const lists = sent.filter((request) => request.startsWith('GET'))
      t.equal(lists.length, 4000 - 4000 / requestsPerWrite)
      const byRequest = new Map<string, number>()
      for (const request of lists) byRequest.set(request, (byRequest.get(request) ?? 0) + 1)
      const counts = [...byRequest.values()].sort((a, b) => b - a)
      t.ok(counts.length > 180 && counts.length <= 200, `${name}: ${scenario}: ${counts.length} filters`)
      const shareOf = (popular: number) => counts.slice(0, popular).reduce((sum, one) => sum + one, 0) / lists.length
      t.ok(shareOf(1) > 0.15 && shareOf(1) < 0.2, `${shareOf(1)}`)
      t.ok(shareOf(32) > 0.6 && shareOf(32) < 0.75, `${shareOf(32)}`)
    }
  }
})

test('a custom action sends the same response as the hand-written route', async (t) => {
  const names = ['custom action']
  const [byHand, ours] = await Promise.all(['features', 'action'].map((name) => {
    return collectAnswers(name, memory(), undefined, names)
  }))
  t.equal(ours!.size, 1)
  t.strictSame(ours, byHand)
})

test('a custom action makes the same checks as the hand-written route', async (t) => {
  const requests: Array<[fields: string[], content: string, query?: string]> = [
    [[], '{"name":"Ada"}'],
    [[], '{"name":"Ada"}', '?force=true'],
    [['If-Match: "1"'], '{"name":""}'],
    [['If-None-Match: *'], '{"name":"Ada"}'],
    [[], '{"name":""}'],
    [[], '{"name":"Ada","role":"admin"}'],
    [[], '{"name":"Ada","name":"Grace"}'],
    [[], '{"name":"\\ud800"}'],
    [[], '{"name":1e400}'],
    [[], '{"name":'],
    [['Prefer: return=minimal'], '{"name":"Grace"}'],
    [['Accept: text/html'], '{"name":"Grace"}']
  ]
  const [byHand, ours] = await Promise.all(['features', 'action'].map(async (name) => {
    const server = await start(name, memory())
    const wire = new Wire((server.address() as AddressInfo).port)
    const json = 'Content-Type: application/json'
    const content = JSON.stringify({ email: 'ada@example.com', name: 'Ada', password: 'x' })
    const { fields: { location } } = await wire.ask(['POST /users', json], content)
    const answers: unknown[] = []
    for (const [fields, content, query = ''] of requests) {
      const answer = await wire.ask([`POST ${location}/rename${query}`, json, ...fields], content)
      const { code } = answer.status === 204 ? {} : JSON.parse(String(answer.content))
      answers.push({ content, status: answer.status, code })
    }
    wire.close()
    await new Promise((resolve) => server.close(resolve))
    return answers
  }))
  t.strictSame(byHand, ours)
  t.match(ours, [200, 400, 412, 412, 422, 422, 400, 400, 400, 400, 204, 406].map((status) => ({ status })))
})

test('the contestants of the benchmark send the same responses', async (t) => {
  const ours = await collectAnswers('ours')
  for (const name of Object.keys(contestants).filter((name) => name !== 'ours' && name !== 'plain')) {
    for (const [step, answer] of await collectAnswers(name)) t.same(answer, ours.get(step), `${name}: ${step}`)
  }
  for (const [step, { status, content }] of await collectAnswers('plain')) {
    // The plain app keeps the error responses of Fastify.
    if (status >= 400) t.ok([400, 404].includes(status), `plain: ${step}`)
    else {
      t.same(
        { status, content },
        { status: ours.get(step)?.status, content: ours.get(step)?.content },
        `plain: ${step}`
      )
    }
  }
})

test(
  'hand-written SQL sends the same responses as the library',
  async (t) => {
    const { handWritten, fill } = await openSqlite()
    const ours = await collectAnswers('ours')
    for (const [step, answer] of await collectAnswers('features', handWritten, (shape) => fill!(shape, 0))) {
      t.same(answer, ours.get(step), step)
    }
  }
)

test('the features contestant also handles requests that are not measured', async (t) => {
  const server = await start('features', memory())
  const wire = new Wire((server.address() as AddressInfo).port)
  const item = '/users/01800000-0000-7000-9000-000000000000'
  t.equal((await wire.ask(['GET /users', 'Accept: text/html'])).status, 406)
  t.equal((await wire.ask('GET /users/1')).status, 404)
  t.equal((await wire.ask('GET /users?colour=red')).status, 400)
  t.equal((await wire.ask('GET /users?count=true')).fields['x-total-count'], '0')
  t.equal((await wire.ask(['DELETE ' + item, 'If-Match: "1"'])).status, 404)
  const content = JSON.stringify({ email: 'ada@example.com', name: 'Ada', password: 'x' })
  const {
    fields: { location = '', etag = '' }
  } = await wire.ask(['POST /users', 'Content-Type: application/json'], content)
  t.equal((await wire.ask(['POST /users', 'Content-Type: application/json'], content)).status, 409)
  t.equal((await wire.ask([`PUT ${location}`, 'Content-Type: application/json', 'If-Match: "1"'], content)).status, 412)
  t.equal(
    (await wire.ask([`PUT ${location}`, 'Content-Type: application/json', `If-Match: "1", ${etag}`], content)).status,
    200
  )
  wire.close()
  await new Promise((resolve) => server.close(resolve))
})

test('the benchmark runs', async (t) => {
  const bench = fileURLToPath(new URL('../bench/run.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [
    bench,
    '--json',
    '--scenarios',
    'create',
    '--connections',
    '2',
    '--launches',
    '2',
    '--rounds',
    '1',
    '--duration',
    '0.05',
    '--warmup',
    '0.05'
  ])
  const { results } = JSON.parse(stdout)
  t.equal(results.length, 1)
  for (const { scenario, rows } of results) {
    t.same(Object.keys(rows), Object.keys(contestants), scenario)
    for (const { rate, p50, p99, cpu, allocated } of Object.values<Record<string, number>>(rows)) {
      t.ok(
        [p50, p99, allocated].every((figure) => figure! > 0),
        JSON.stringify({ rate, p50, p99, cpu, allocated })
      )
    }
  }
})

test('the walk of a request passes from the handler through the action to the storage', async (t) => {
  const walk = fileURLToPath(new URL('../bench/structure/walk.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [walk, '--path'])
  type Walk = { files: number, functions: number, returns: number, path: string[] }
  const walks = JSON.parse(stdout) as Record<string, Walk>
  t.strictSame(Object.keys(walks), ['POST', 'GET', 'list', 'PUT', 'PATCH', 'DELETE', 'custom action'])
  for (const [name, { files, functions, returns, path }] of Object.entries(walks)) {
    const called = path.map((place) => place.split(':')[0]!)
    t.equal(new Set(called).size, files, name)
    t.ok(functions > returns && functions <= new Set(path).size, name)
    t.ok(called.indexOf('doors/http/handler.ts') < called.indexOf('storage/memory.ts'), name)
  }
})

test('conditions on the kind of an action are found outside of the table', async (t) => {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const found = findKindConditions(root, ['engine/table.ts', 'features/bulk.ts', 'http/accept.ts'])
  t.ok(found.length > 0)
  t.ok(found.every((line) => line.startsWith('features/bulk.ts:')))
})

test('circles of imports are found, and their largest comes first', async (t) => {
  const files = ['a.ts', 'b.ts', 'c.ts', 'd.ts', 'e.ts', 'f.ts']
  const edges = ['ab', 'ba', 'bc', 'cd', 'de', 'ec', 'ef']
  const imports = edges.map(([from, to]) => ({ from: `${from}.ts`, to: `${to}.ts`, names: [] }))
  const circles = findTypeCircles({ files, lines: 0, imports })
  t.strictSame(circles.map((circle) => circle.toSorted()), [['c.ts', 'd.ts', 'e.ts'], ['a.ts', 'b.ts']])
})

test('the failover runs count writes that are missing, and writes that were done twice', async (t) => {
  const database = new DatabaseSync(':memory:')
  const definition = defineOrders(sqlite(database))
  await sqlite(database).createTable(definition)
  const app = Fastify()
  await app.register(collection, definition)
  t.teardown(() => app.close())
  const load = new Load([await app.listen({ port: 0, host: '127.0.0.1' })])
  await load.start()
  const fault = Date.now()
  while (!load.hasRecovered(fault)) await delay(10)
  await load.end()

  const orders = database.prepare('SELECT id, number, changes FROM orders').all().map(({ id, number, changes }) => {
    return { id: String(id), number: String(number), changes: JSON.parse(String(changes)) as string[] }
  })
  const changed = orders.find(({ changes }) => changes.length > 0)!
  const count = 1 + changed.changes.length
  const counts = load.evaluate(orders, fault)
  t.match(counts, { missing: 0, doubled: 0, unanswered: 0 })
  t.equal(counts.acknowledged, orders.reduce((sum, { changes }) => sum + 1 + changes.length, 0))
  t.match(load.evaluate(orders.filter((order) => order !== changed), fault), { missing: count, doubled: 0 })
  t.match(load.evaluate([...orders, changed], fault), { missing: 0, doubled: count })
})
