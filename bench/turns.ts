import { setImmediate as nextTurn } from 'node:timers/promises'
import { DatabaseSync } from 'node:sqlite'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { aggregates } from '../lib/features/aggregates.ts'
import { bulk } from '../lib/features/bulk.ts'
import { batch } from '../lib/doors/batch/batch.ts'
import collection, { define } from '../lib/index.ts'
import { registry } from '../lib/app/registry.ts'
import type { Definition } from '../lib/index.ts'
import type { Shape, Storage } from '../lib/storage/index.ts'
import { json } from '../lib/formats/json.ts'
import { xml } from '../lib/formats/xml.ts'
import { relate } from '../lib/relations/relate.ts'
import { memory } from '../lib/storage/memory.ts'
import { sqlite } from '../lib/storage/sqlite.ts'

// How long one request keeps the event loop, for the largest requests that the limits allow: node bench/turns.ts [rows]
// Each line has the longest turn and all of them, in milliseconds of CPU time of this thread, which other processes do
// not change: the lowest of several rounds.

const rounds = 3
const rowCount = Number(process.argv[2] ?? 10_000)
const bodyLimit = 1_048_576

const Author = Type.Object({ id: Type.Integer(), name: Type.String({ maxLength: 50 }) })
const Thing = Type.Object({
  id: Type.Integer(),
  authorId: Type.Optional(Type.Integer()),
  status: Type.Optional(Type.String({ maxLength: 20 })),
  size: Type.Optional(Type.Integer()),
  text: Type.Optional(Type.String()),
  tags: Type.Optional(Type.Array(Type.String())),
  any: Type.Optional(Type.Unknown())
})
// A value is a leaf, or a pair of values in one of two ways.
const tree = {
  $id: 'tree',
  anyOf: [
    { type: 'integer' },
    { type: 'object', required: ['a'], additionalProperties: false, properties: { a: { $ref: '#' } } },
    {
      type: 'object',
      required: ['a'],
      additionalProperties: false,
      properties: { a: { $ref: '#' }, b: { type: 'string' } }
    }
  ]
}
const Nested = { type: 'object', required: ['id'], properties: { id: { type: 'integer' }, tree } } as const

interface Sent {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE' | 'QUERY'
  readonly url: string
  readonly payload?: unknown
  readonly type?: string
}

const repeat = <Value>(count: number, create: (index: number) => Value): Value[] => {
  return Array.from({ length: count }, (_, index) => create(index))
}

const word = (index: number): string => `w${(index * 7919 % 997).toString(36)}`

interface Prepared {
  readonly storage: <Item extends object>(shape: Shape) => Storage<Item>
  /** Creates the table, if there are tables. */
  readonly prepare: (definition: Definition) => Promise<void>
}

async function serve ({ storage, prepare }: Prepared): Promise<FastifyInstance> {
  const id = { generate: 'client' } as const
  const list = { limit: { maximum: 1000 } }
  const definitions = {
    ...relate({
      authors: define({ name: 'authors', schema: Author, id, list, storage }),
      things: define({
        name: 'things',
        schema: Thing,
        id,
        list: { ...list, search: ['text'] },
        put: { create: true },
        formats: [json, xml],
        storage
      }).with(
        bulk({ update: true, remove: true, maximum: 10_000 }),
        aggregates({ by: ['status', 'size'], of: { size: ['sum', 'avg', 'min', 'max', 'distinct'] }, maximum: 10_000 })
      )
    }, {
      things: { author: { to: 'authors', property: 'authorId' } },
      authors: { things: { to: 'things', by: 'authorId', limit: 100 } }
    }),
    nested: define({ name: 'nested', schema: Nested, id, storage }).with(bulk())
  }
  const app = Fastify({ bodyLimit })
  await app.register(registry)
  for (const definition of Object.values(definitions)) {
    await prepare(definition)
    await app.register(collection, definition)
  }
  await app.register(batch, { collections: Object.values(definitions), timeout: 60_000 })
  await app.ready()
  const { authors, things } = definitions
  for (let number = 0; number < 100; number++) await app.collection(authors).create({ id: number, name: `Author ${number}` })
  for (let start = 0; start < rowCount; start += 1000) {
    await app.collection(things).createMany(Array.from({ length: Math.min(1000, rowCount - start) }, (_, index) => ({
      id: start + index,
      authorId: (start + index) % 100,
      status: `s${(start + index) % 7}`,
      size: start + index,
      text: Array.from({ length: 20 }, (_, place) => word(start + index + place)).join(' '),
      tags: ['a', 'b']
    })))
  }
  // A page of them has 4 MB.
  await app.collection(things).createMany(repeat(1000, (index) => ({ id: 500_000 + index, text: 'x'.repeat(4000) })))
  return app
}

/** A text of JSON that has almost the most bytes that the app accepts. */
const fill = (unit: string): string => `[${repeat(Math.floor((bodyLimit - 2000) / (unit.length + 1)), () => unit).join()}]`

const nest = (levels: number, inner: string): string => '{"a":'.repeat(levels) + inner + '}'.repeat(levels)

const deepFilter = (levels: number): unknown => {
  return levels === 0 ? { 'size.gt': 1 } : { any: [{ status: 'x' }, { not: deepFilter(levels - 1) }] }
}

let nextId = 1_000_000
/** The items of the POSTs of 10,000 items have ids from here on, which no other request uses. */
let firstPosted = 10_000_000
let lastPosted = firstPosted

const requests: Readonly<Record<string, () => Sent>> = {
  'list, 1,000 items': () => ({ method: 'GET', url: '/things?limit=1000' }),
  'list, 1,000 items of 4 MB': () => ({ method: 'GET', url: '/things?limit=1000&id.gte=500000&id.lt=600000' }),
  'list, 1,000 items as XML': () => ({ method: 'GET', url: '/things?limit=1000', type: 'application/xml' }),
  'list, 100 conditions that match nothing': () => ({
    method: 'QUERY',
    url: '/things',
    payload: { filter: { any: repeat(100, (index) => ({ size: -1 - index })) } }
  }),
  'list, 1,000 values of in': () => ({ method: 'QUERY', url: '/things', payload: { filter: { 'text.in': repeat(1000, word) } } }),
  'list, 16 levels': () => ({ method: 'QUERY', url: '/things', payload: { filter: deepFilter(7) } }),
  'list, 5 patterns of like': () => ({
    method: 'QUERY',
    url: '/things',
    payload: { filter: { any: repeat(5, (index) => ({ 'text.like': `*z${repeat(4, (place) => `${word(index * 9 + place)}*`).join('')}` })) } }
  }),
  'list, 10 words of q': () => ({ method: 'GET', url: `/things?q=${repeat(10, (index) => word(index * 50)).join('+')}` }),
  'list, through a relation and back': () => ({ method: 'GET', url: '/things?author.things.some.text=zzz' }),
  'list, 2,000 included items': () => ({ method: 'GET', url: '/authors?limit=20&expand=things&expand.things.limit=100' }),
  'aggregate, 10,000 groups': () => ({ method: 'GET', url: '/things/aggregate?by=size&limit=10000' }),
  'aggregate, 10,000 groups of 5 figures': () => ({
    method: 'GET',
    url: '/things/aggregate?by=size&sum=size&avg=size&min=size&max=size&distinct=size&limit=10000'
  }),
  'batch, 100 items': () => ({
    method: 'POST',
    url: '/batch',
    payload: repeat(100, (index) => ({ method: 'GET', path: `/things/${index}` }))
  }),
  'batch, 100 lists of 100': () => ({
    method: 'POST',
    url: '/batch',
    payload: repeat(100, (index) => ({ method: 'GET', path: `/things?limit=100&id.gte=${index}` }))
  }),
  'batch, 60 lists of 1,000': () => ({
    method: 'POST',
    url: '/batch',
    payload: repeat(60, (index) => ({ method: 'GET', path: `/things?limit=1000&id.gte=${index}&fields=id,text,status` }))
  }),
  'batch, 100 writes': () => ({
    method: 'POST',
    url: '/batch',
    payload: repeat(100, () => ({ method: 'POST', path: '/things', content: { id: nextId++, status: 'batch' } }))
  }),
  'POST of 10,000 items': () => ({
    method: 'POST',
    url: '/things',
    payload: repeat(10_000, () => ({ id: lastPosted++, status: 'new', text: 'x'.repeat(40) }))
  }),
  'PATCH of 10,000 items': () => ({
    method: 'PATCH',
    url: `/things?size.lt=${10_000}`,
    payload: { status: `t${nextId++ % 9}` }
  }),
  'PATCH of 20 items with 400 kB': () => ({
    method: 'PATCH',
    url: '/things?id.gte=500000&id.lt=500020',
    payload: { any: `${nextId++}${'x'.repeat(400_000)}` }
  }),
  'DELETE of 10,000 items' () {
    const start = firstPosted
    firstPosted += 10_000
    return { method: 'DELETE', url: `/things?id.gte=${start}&id.lt=${firstPosted}` }
  },
  'POST of 1 MiB, a list of numbers': () => ({ method: 'POST', url: '/things', payload: `{"id":${nextId++},"any":${fill('1')}}` }),
  'POST of 1 MiB, objects': () => ({ method: 'POST', url: '/things', payload: `{"id":${nextId++},"any":${fill('{"a":[1,{}]}')}}` }),
  'POST of 1 MiB, invalid': () => ({ method: 'POST', url: '/things', payload: `{"id":1,"tags":${fill('1')}}` }),
  'POST of 1 MiB, unknown properties': () => ({
    method: 'POST',
    url: '/things',
    payload: `{"id":1,${repeat(80_000, (index) => `"n${index}":1`).join()}}`
  }),
  'POST of 1 MiB as XML': () => ({
    method: 'POST',
    url: '/things',
    payload: `<item><id>${nextId++}</id><tags>${'<item>a</item>'.repeat(70_000)}</tags></item>`,
    type: 'application/xml'
  }),
  'JSON Patch of 1 MiB': () => ({
    method: 'PATCH',
    url: '/things/1',
    payload: fill('{"op":"add","path":"/tags/0","value":"a"}'),
    type: 'application/json-patch+json'
  }),
  'JSON Patch of 1 MiB, moves': () => ({
    method: 'PATCH',
    url: '/things/2',
    payload: fill('{"op":"move","from":"/text","path":"/text"}'),
    type: 'application/json-patch+json'
  }),
  'union, 16 kB, 60 levels': () => ({ method: 'POST', url: '/nested', payload: `{"id":1,"tree":${nest(60, `"${'x'.repeat(16_000)}"`)}}` }),
  'union, 100 items of 9 levels, valid': () => ({
    method: 'POST',
    url: '/nested',
    payload: `[${repeat(100, () => `{"id":${nextId++},"tree":${nest(9, '{"a":1,"b":"x"}')}}`).join()}]`
  }),
  'union, 100 items of 10 levels, invalid': () => ({
    method: 'POST',
    url: '/nested',
    payload: `[${repeat(100, (index) => `{"id":${index},"tree":${nest(10, 'true')}}`).join()}]`
  })
}

interface Measured<Result> {
  readonly result: Result
  readonly longest: number
  readonly whole: number
}

function readCpu (): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** The longest turn of the event loop until the promise settles. */
async function measureTurns<Result> (work: () => Promise<Result>): Promise<Measured<Result>> {
  const state = { isDone: false, longest: 0 }
  await nextTurn()
  const begin = readCpu()
  let last = begin
  const watch = async (): Promise<void> => {
    while (!state.isDone) {
      await nextTurn()
      const now = readCpu()
      state.longest = Math.max(state.longest, now - last)
      last = now
    }
  }
  const watching = watch()
  const result = await work()
  state.isDone = true
  await watching
  return { result, longest: state.longest, whole: readCpu() - begin }
}

const storages: Readonly<Record<string, () => Prepared>> = {
  sqlite () {
    const storage = sqlite(new DatabaseSync(':memory:'))
    return { storage, prepare: (definition) => storage.createTable(definition) }
  },
  memory: () => ({ storage: memory(), prepare: async () => {} })
}

const only = process.argv[3]
for (const [name, create] of Object.entries(storages)) {
  firstPosted = lastPosted
  const app = await serve(create())
  console.log(`${name}, ${rowCount} rows\n`)
  console.log('| request | status | longest turn | whole |\n|---|---|---|---|')
  for (const [title, build] of Object.entries(requests)) {
    if (only !== undefined && !title.includes(only)) continue
    const measured = []
    for (let round = 0; round < rounds; round++) {
      const { method, url, payload, type = 'application/json' } = build()
      const content = payload === undefined || typeof payload === 'string' ? payload : JSON.stringify(payload)
      measured.push(await measureTurns(() => app.inject({
        method: method as 'GET',
        url,
        headers: content === undefined ? { accept: type } : { 'content-type': type },
        ...content !== undefined && { payload: content }
      })))
    }
    const [best] = measured.sort((a, b) => a.longest - b.longest)
    const { longest, whole, result: { statusCode } } = best!
    console.log(`| ${title} | ${statusCode} | ${longest.toFixed(0)} | ${whole.toFixed(0)} |`)
  }
  console.log('')
  await app.close()
}
