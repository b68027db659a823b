import { deepStrictEqual } from 'node:assert/strict'
import { Type } from '@sinclair/typebox'
import type { TSchema } from '@sinclair/typebox'
import fc from 'fast-check'
import Fastify from 'fastify'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import { test } from 'tap'
import { softDelete } from '../../lib/features/soft-delete.ts'
import collection, { define } from '../../lib/index.ts'
import { registry } from '../../lib/app/registry.ts'
import type { Definition } from '../../lib/index.ts'
import type { Shape, Storage } from '../../lib/storage/index.ts'
import { relate } from '../../lib/relations/relate.ts'
import { memory } from '../../lib/storage/memory.ts'
import { request } from '../app.ts'
import { links } from '../query/goods.ts'
import { sampleRuns } from '../sample.ts'
import { databases } from '../storage/databases.ts'
import { Caller, evaluateItem, evaluateList, Refused } from './graph.ts'
import type { Edge, Graph, IncludedList, ListRequest, Node, Shown, Value } from './graph.ts'
import { draws, drawGraph, drawInvisibleChanges, drawRequest, toContent, toParameters } from './random-graph.ts'
import type { Change, Draw, Place } from './random-graph.ts'

// Random graphs of collections, with random rows and access. Each response is compared with what graph.ts computes.

type OpenStorage = <Item extends object>(shape: Shape) => Storage<Item>

interface Served {
  readonly app: FastifyInstance
  readonly definitions: Readonly<Record<string, Definition>>
}

/** The calls of the app that the tests use. */
interface Calls {
  create (item: object): Promise<unknown>
  replace (id: Value, item: object): Promise<unknown>
  remove (id: Value): Promise<unknown>
  list (query: object, options?: object): AsyncIterable<{ readonly item: unknown }>
  read (id: Value, query: object): Promise<{ readonly item: unknown }>
}

function getCalls ({ app, definitions }: Served, name: string): Calls {
  return app.collection(definitions[name]!) as unknown as Calls
}

const user = 'ada'

/** What is related is only known when the test runs. */
const relateAny = relate as unknown as (
  definitions: Readonly<Record<string, Definition>>,
  relations: Readonly<Record<string, object>>
) => Readonly<Record<string, Definition>>

function createDefinition (node: Node, storage: OpenStorage): Definition {
  const { name, types, nullable, softDeletes, access: { list, read, hidden, scope } } = node
  const properties = Object.entries(types).map(([property, type]): [string, TSchema] => {
    const schema = type === 'integer' ? Type.Integer() : Type.String()
    if (property === 'id') return [property, schema]
    return [property, nullable.includes(property) ? Type.Union([schema, Type.Null()]) : Type.Optional(schema)]
  })
  const definition: Definition = define({
    name,
    schema: Type.Object({
      ...Object.fromEntries(properties),
      ...softDeletes && { deletedAt: Type.Optional(Type.String({ format: 'date-time' })) }
    }),
    storage,
    id: { generate: 'client' },
    access: {
      authenticate: ({ request }) => request.headers['x-user']?.toString(),
      allow: { all: 'authenticated', list: () => list, read: () => read },
      ...scope !== undefined && {
        scope: () => ({ filter: { [`${scope.property}.${scope.is}`]: scope.value } as never })
      },
      visible: Object.fromEntries(hidden.map((property) => [property, () => false]))
    }
  })
  return softDeletes ? definition.with(softDelete({ property: 'deletedAt' })) : definition
}

function toOptions ({ to, isMany, property, equals, limit, order }: Edge) {
  if (!isMany) return { to, property }
  return { to, by: equals, ...limit !== undefined && { limit }, ...order !== undefined && { order } }
}

async function serve (graph: Graph, { storage, prepare }: {
  readonly storage: OpenStorage
  prepare (definition: Definition): Promise<void>
}): Promise<Served> {
  const nodes = [...graph.values()]
  const definitions = relateAny(
    Object.fromEntries(nodes.map((node) => [node.name, createDefinition(node, storage)])),
    Object.fromEntries(nodes.map(({ name, edges }) => {
      return [name, Object.fromEntries(edges.map((edge) => [edge.name, toOptions(edge)]))]
    }))
  )
  const app = Fastify()
  await app.register(registry)
  for (const definition of Object.values(definitions)) {
    await prepare(definition)
    await app.register(collection, definition)
  }
  await app.ready()
  const served = { app, definitions }
  for (const { name, rows } of nodes) {
    for (const row of rows.values()) await getCalls(served, name).create(row)
  }
  return served
}

type Send = (target: string, content?: unknown) => Promise<LightMyRequestResponse>

function createSend ({ app }: Served): Send {
  return (target, content) => request(app, target, { content, fields: { 'x-user': user } })
}

/** Compares what a response shows of a row, and follows some of the links to the rest of included lists. */
class Comparison {
  readonly #send: Send | undefined
  #followed = 0

  /** Without the function, links are not followed. */
  constructor (send: Send | undefined) {
    this.#send = send
  }

  async compare (actual: unknown, { properties, one, many }: Shown): Promise<void> {
    const rest = { ...actual as Record<string, unknown> }
    for (const [name, expected] of Object.entries(one)) {
      if (expected === null) deepStrictEqual(rest[name], null)
      else await this.compare(rest[name], expected)
      delete rest[name]
    }
    for (const [name, expected] of Object.entries(many)) {
      await this.#compareList(rest[name], expected)
      delete rest[name]
    }
    deepStrictEqual(rest, { ...properties })
  }

  async compareAll (actual: readonly unknown[], expected: readonly Shown[]): Promise<void> {
    deepStrictEqual(actual.length, expected.length, JSON.stringify(actual))
    for (const [index, shown] of expected.entries()) await this.compare(actual[index], shown)
  }

  async #compareList (actual: unknown, { all, limit, total }: IncludedList): Promise<void> {
    const { items, next, ...rest } = actual as { items: unknown[], next?: string }
    await this.compareAll(items, all.slice(0, limit))
    deepStrictEqual(rest, total === undefined ? {} : { total })
    if (limit === 0 || all.length <= limit) deepStrictEqual(next, undefined)
    else if (next !== undefined && this.#send !== undefined && this.#followed < 3) {
      this.#followed++
      await this.compareAll(await walk(this.#send, `GET ${next}`), all.slice(limit))
    }
  }
}

/** Returns the items of all pages. */
async function walk (send: Send, target: string, content?: unknown): Promise<unknown[]> {
  const method = target.split(' ', 1)[0]!
  const items: unknown[] = []
  for (let at: string | undefined = target; at !== undefined;) {
    const answer = await send(at, content)
    if (answer.statusCode !== 200) throw new Error(`${at}: ${answer.payload}`)
    items.push(...answer.json<unknown[]>())
    const { next } = links(answer)
    at = next === undefined ? undefined : `${method} ${next}`
    if (items.length > 100) throw new Error('the list does not end')
  }
  return items
}

const limit = 4

interface Available {
  readonly name: string
  readonly skip: string | false
  readonly numRuns: number
  open (): Promise<Parameters<typeof serve>[1] & { end (): Promise<void> }>
}

const storages: readonly Available[] = [
  {
    name: 'memory',
    skip: false,
    numRuns: 100,
    open: async () => ({ storage: memory(), async prepare () {}, async end () {} })
  },
  ...databases.map(({ name, skip, open }): Available => ({
    name,
    skip,
    numRuns: name === 'sqlite' ? 100 : 20,
    async open () {
      const database = await open()
      const adapter = database.adapter()
      return {
        storage: adapter,
        prepare: (definition) => adapter.createTable(definition),
        end: () => database.end()
      }
    }
  }))
]

let count = 0

/** The tables of each graph have other names, and so have the statements that a database has prepared. */
function drawNewGraph (draw: Draw): Graph {
  return drawGraph(draw, `g${count++}_`)
}

/** Whether the responses to a request are those that the rules lead to. Returns false if they refuse it. */
async function checkList (served: Served, graph: Graph, { node: { name }, listRequest, isFlat }: {
  readonly node: Node
  readonly listRequest: ListRequest
  readonly isFlat: boolean
}): Promise<boolean> {
  const send = createSend(served)
  const content = toContent(listRequest)
  const url = `GET /${name}?${toParameters({ ...listRequest, limit })}`
  const expected = tryEvaluate(() => evaluateList(new Caller(graph, false), name, listRequest))
  if (expected === undefined || !graph.get(name)!.access.list) {
    const statuses = expected === undefined ? [400, 422, 403] : [403]
    const answers = [await send(`QUERY /${name}`, content), ...isFlat ? [await send(url)] : []]
    for (const { statusCode, payload } of answers) {
      if (!statuses.includes(statusCode)) throw new Error(`${statusCode} ${payload}`)
    }
    return false
  }
  const comparison = new Comparison(send)
  await comparison.compareAll(await walk(send, `QUERY /${name}?limit=${limit}`, content), expected)
  if (isFlat) await comparison.compareAll(await walk(send, url), expected)
  if (listRequest.count === true) {
    const { headers } = await send(`QUERY /${name}`, content)
    deepStrictEqual(headers['x-total-count'], String(expected.length))
  }
  // A call from code has no fields.
  const { fields, ...callQuery } = content
  const whole = fields === undefined ? expected : undefined
  const items = await collect(getCalls(served, name).list({ ...callQuery, limit }, { caller: user }))
  if (whole !== undefined) await comparison.compareAll(items, whole)
  return true
}

async function collect (entries: AsyncIterable<{ readonly item: unknown }>): Promise<unknown[]> {
  const items: unknown[] = []
  for await (const { item } of entries) items.push(item)
  return items
}

function tryEvaluate<Result> (evaluate: () => Result): Result | undefined {
  try {
    return evaluate()
  } catch (thrown) {
    if (!(thrown instanceof Refused)) throw thrown
    return undefined
  }
}

/** The app itself sees everything, and can query everything. */
async function checkApp (served: Served, graph: Graph, { name, listRequest }: {
  readonly name: string
  readonly listRequest: ListRequest
}): Promise<void> {
  const { fields, ...callQuery } = toContent(listRequest)
  const { fields: _, ...whole } = listRequest
  const expected = evaluateList(new Caller(graph, true), name, whole)
  const items = await collect(getCalls(served, name).list({ ...callQuery, limit }))
  await new Comparison(undefined).compareAll(items, expected)
}

async function checkItems (served: Served, graph: Graph, { node, listRequest }: {
  readonly node: Node
  readonly listRequest: ListRequest
}): Promise<void> {
  const { name, access: { read } } = node
  const { fields, expand } = listRequest
  const itemRequest = { ...fields && { fields }, expand }
  const send = createSend(served)
  for (const id of node.rows.keys()) {
    const answer = await send(`GET /${name}/${id}?${toParameters(itemRequest)}`)
    const expected = tryEvaluate(() => [evaluateItem(new Caller(graph, false), name, { id, request: itemRequest })])
    if (!read) deepStrictEqual(answer.statusCode, 403)
    else if (expected === undefined) deepStrictEqual(answer.statusCode, 400, answer.payload)
    else if (expected[0] === undefined) deepStrictEqual(answer.statusCode, 404)
    else {
      deepStrictEqual(answer.statusCode, 200, answer.payload)
      await new Comparison(send).compare(answer.json(), expected[0])
    }
  }
}

/** Everything that a caller can see of the responses, except for the time. */
async function observe (served: Served, { name, rows }: Node, listRequest: ListRequest): Promise<unknown[]> {
  const send = createSend(served)
  const parameters = toParameters({ ...listRequest, limit })
  const itemParameters = toParameters({ expand: listRequest.expand })
  const targets = [`GET /${name}?${parameters}`]
  for (const id of rows.keys()) targets.push(`GET /${name}/${id}?${itemParameters}`)
  const observed: unknown[] = []
  for (const target of targets) {
    const { statusCode, headers: { date, ...headers }, payload } = await send(target)
    observed.push({ target, statusCode, headers, payload })
  }
  return observed
}

async function apply (served: Served, { node: { name }, row, kind }: Change): Promise<void> {
  const calls = getCalls(served, name)
  const id: Value = row['id']!
  if (kind === 'create' || kind === 'create deleted') await calls.create(row)
  if (kind === 'replace') await calls.replace(id, row)
  if (kind === 'remove' || kind === 'create deleted') await calls.remove(id)
}

for (const { name, skip, numRuns, open } of storages) {
  const runs = sampleRuns(numRuns)

  test(`${name}: lists, items and calls show what the rules lead to`, { skip }, async (t) => {
    t.setTimeout(240_000)
    const storage = await open()
    t.after(() => storage.end())
    const counts = { allowed: 0, refused: 0 }
    await fc.assert(fc.asyncProperty(draws, fc.boolean(), async (draw, isFlat) => {
      const graph = drawNewGraph(draw)
      const served = await serve(graph, storage)
      for (const node of graph.values()) {
        const place: Place = { graph, node, levels: 3, isFlat }
        const listRequest = drawRequest(draw, place)
        const isAllowed = await checkList(served, graph, { node, listRequest, isFlat })
        counts[isAllowed ? 'allowed' : 'refused']++
        await checkApp(served, graph, { name: node.name, listRequest })
        if (isFlat) await checkItems(served, graph, { node, listRequest })
      }
      await served.app.close()
    }), runs)
    t.ok(counts.allowed > counts.refused / 2, JSON.stringify(counts))
  })

  test(`${name}: what the caller cannot read changes nothing in its responses`, { skip }, async (t) => {
    t.setTimeout(240_000)
    const storage = await open()
    t.after(() => storage.end())
    let total = 0
    await fc.assert(fc.asyncProperty(draws, async (draw) => {
      const graph = drawNewGraph(draw)
      const served = await serve(graph, storage)
      const requests = [...graph.values()].map((node) => {
        return { node, listRequest: drawRequest(draw, { graph, node, levels: 3, isFlat: true }) }
      })
      const observeAll = () => Promise.all(requests.map(({ node, listRequest }) => observe(served, node, listRequest)))
      const before = await observeAll()
      const changes = drawInvisibleChanges(draw, graph)
      total += changes.length
      for (const change of changes) await apply(served, change)
      deepStrictEqual(await observeAll(), before)
      await served.app.close()
    }), runs)
    t.ok(total > runs.numRuns, `${total} changes`)
  })
}
