import { Type } from '@sinclair/typebox'
import type { Static } from '@sinclair/typebox'
import fc from 'fast-check'
import Fastify from 'fastify'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import { test } from 'tap'
import collection, { define } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { build, request } from '../app.ts'
import { sampleRuns } from '../sample.ts'
import { links } from './goods.ts'

// Walks through all pages of a list, compared with a plain filter and sort, and with concurrent writers.

const Thing = Type.Object({
  id: Type.Integer({ minimum: 1 }),
  text: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  rank: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
  size: Type.Optional(Type.Number()),
  done: Type.Optional(Type.Boolean()),
  place: Type.Optional(Type.Union([Type.Object({ city: Type.Optional(Type.String()) }), Type.Null()]))
})

type Item = Static<typeof Thing>
type Scalar = string | number | boolean

const types = {
  id: 'number',
  text: 'string',
  rank: 'number',
  size: 'number',
  done: 'boolean',
  'place.city': 'string'
} as const

type Name = keyof typeof types

const names = Object.keys(types) as Name[]

// The reference implementation: simple rather than fast.

interface Condition {
  readonly name: Name
  readonly is: string
  readonly value: Scalar | readonly Scalar[]
}
type Tree = Condition | { readonly all: readonly Tree[] } | { readonly any: readonly Tree[] } | { readonly not: Tree }

function getValue (thing: Item, name: Name): Scalar | null {
  return (name === 'place.city' ? thing.place?.city : thing[name]) ?? null
}

function compare (a: Scalar | null, b: Scalar | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b))
  return Number(a) - Number(b)
}

function matches (thing: Item, tree: Tree): boolean {
  if ('all' in tree) return tree.all.every((part) => matches(thing, part))
  if ('any' in tree) return tree.any.some((part) => matches(thing, part))
  if ('not' in tree) return !matches(thing, tree.not)
  const value = getValue(thing, tree.name)
  const given = tree.value as Scalar
  const isAmong = () => (tree.value as readonly Scalar[]).includes(value as Scalar)
  switch (tree.is) {
    case 'eq':
      return value === given
    case 'ne':
      return value !== given
    case 'lt':
      return value !== null && compare(value, given) < 0
    case 'lte':
      return value !== null && compare(value, given) <= 0
    case 'gt':
      return value !== null && compare(value, given) > 0
    case 'gte':
      return value !== null && compare(value, given) >= 0
    case 'in':
      return isAmong()
    case 'nin':
      return !isAmong()
    case 'null':
      return (value === null) === given
    default:
      return typeof value === 'string' && expression(String(given), tree.is === 'ilike' ? 'iu' : 'u').test(value)
  }
}

function expression (pattern: string, flags: string): RegExp {
  return new RegExp(
    `^${pattern.replace(/\\([^])|([^])/gu, (_, escaped?: string, plain?: string) => (plain === '*' ? '[^]*' : (escaped ?? plain)!.replace(/[.*+?^${}()|[\]\\/]/u, '\\$&')))}$`,
    flags
  )
}

function listExpected (things: readonly Item[], tree: Tree | undefined, sort: readonly string[]): number[] {
  const by = [...sort, 'id'].map((name) => ({
    name: name.replace('-', '') as Name,
    sign: name.startsWith('-') ? -1 : 1
  }))
  return things
    .filter((thing) => tree === undefined || matches(thing, tree))
    .sort((a, b) =>
      by.reduce((difference, { name, sign }) => difference || compare(getValue(a, name), getValue(b, name)) * sign, 0)
    )
    .map(({ id }) => id)
}

// Random items: few values, for ties, and letters whose order differs between UTF-16 and code points.

const letters = fc
  .array(fc.constantFrom('a', 'b', 'B', 'é', 'É', '😀', '\uffee', ',', '\\', '*', ' ', '%', '_', "'"), { maxLength: 3 })
  .map((all) => all.join(''))
const values = { string: letters, number: fc.constantFrom(-2, -1, 0, 1, 2, 3, 10), boolean: fc.boolean() } as const
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined, freq: 4 })

const things: fc.Arbitrary<Item[]> = fc
  .array(
    fc.record({
      text: maybe(fc.option(letters, { freq: 4 })),
      rank: maybe(fc.option(values.number, { freq: 4 })),
      size: maybe(fc.constantFrom(-0.5, 0, 0.5, 1e21, 1e-7)),
      done: maybe(fc.boolean()),
      place: maybe(fc.option(fc.record({ city: maybe(letters) })))
    }),
    { maxLength: 25 }
  )
  .map((all) => all.map((thing, index) => JSON.parse(JSON.stringify({ id: index + 1, ...thing })) as Item))

const operators = {
  string: ['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'in', 'nin', 'like', 'ilike', 'null'],
  number: ['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'in', 'nin', 'null'],
  boolean: ['eq', 'ne', 'in', 'nin', 'null']
} as const

const condition: fc.Arbitrary<Condition> = fc.constantFrom(...names).chain((name) => {
  const value: fc.Arbitrary<Scalar> = values[types[name]]
  return fc
    .constantFrom<string>(...operators[types[name]])
    .chain((is) =>
      (is === 'null' ? fc.boolean() : is === 'in' || is === 'nin' ? fc.array(value, { maxLength: 3 }) : value).map(
        (value) => ({ name, is, value })
      )
    )
})

const flat = fc.uniqueArray(condition, { maxLength: 2, selector: ({ name, is }) => `${name}.${is}` })

const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    condition,
    fc.record({ all: fc.array(tie('tree'), { maxLength: 3 }) }),
    fc.record({ any: fc.array(tie('tree'), { maxLength: 3 }) }),
    fc.record({ not: tie('tree') })
  )
}))

const sorts = fc
  .subarray(
    names.filter((name) => name !== 'id'),
    { maxLength: 3 }
  )
  .chain((chosen) => fc.shuffledSubarray(chosen, { minLength: chosen.length }))
  .chain((chosen) => fc.tuple(...chosen.map((name) => fc.constantFrom(name, `-${name}`))))

function content (tree: Tree): object {
  if ('all' in tree) return { all: tree.all.map(content) }
  if ('any' in tree) return { any: tree.any.map(content) }
  if ('not' in tree) return { not: content(tree.not) }
  return { [`${tree.name}.${tree.is}`]: tree.value }
}

function parameters (conditions: readonly Condition[]): URLSearchParams {
  return new URLSearchParams(
    conditions.map(({ name, is, value }): [string, string] => [
      is === 'eq' ? name : `${name}.${is}`,
      Array.isArray(value) ? value.map((each) => String(each).replace(/[\\,]/g, '\\$&')).join() : String(value)
    ])
  )
}

async function serve (items: readonly Item[]): Promise<FastifyInstance> {
  const app = Fastify()
  await app.register(
    collection,
    define({ name: 'things', schema: Thing, storage: memory({ items }), id: { generate: 'storage' } })
  )
  return app
}

type Follow = (at: string) => Promise<LightMyRequestResponse>

function getIds (answer: LightMyRequestResponse): number[] {
  if (answer.statusCode !== 200) throw new Error(answer.payload)
  return answer.json().map(({ id }: Item) => id)
}

/** The ids of all pages by next, and back by prev in reverse order. */
async function walk (follow: Follow, start: string): Promise<{ there: number[]; back: number[] }> {
  let page = await follow(start)
  const there = getIds(page)
  const pages = [there.slice()]
  for (let next = links(page).next; next !== undefined; next = links(page).next) {
    page = await follow(next)
    pages.push(getIds(page))
    there.push(...pages.at(-1)!)
    if (pages.length > 60) throw new Error('the walk does not end')
  }
  const back = [pages.at(-1)!]
  for (let prev = links(page).prev; prev !== undefined; prev = links(page).prev) {
    page = await follow(prev)
    back.unshift(getIds(page))
    if (back.length > 60) throw new Error('the way back does not end')
  }
  return { there, back: back.flat() }
}

function checkSame (one: readonly number[], other: readonly number[], what: string): void {
  if (one.join() !== other.join()) throw new Error(`${what}: ${one.join()} instead of ${other.join()}`)
}

test('paging through a filtered and sorted list returns what a plain filter and sort return', async (t) => {
  t.setTimeout(120_000)
  await fc.assert(
    fc.asyncProperty(things, flat, sorts, fc.integer({ min: 1, max: 9 }), async (items, conditions, sort, limit) => {
      // A query string cannot express a list with only an empty string.
      fc.pre(!conditions.some(({ value }) => Array.isArray(value) && value.length === 1 && value[0] === ''))
      const app = await serve(items)
      const search = parameters(conditions)
      search.set('limit', String(limit))
      if (sort.length > 0) search.set('sort', sort.join())
      const { there, back } = await walk((at) => request(app, `GET ${at}`), `/things?${search}`)
      const reference = listExpected(items, { all: conditions }, sort)
      checkSame(there, reference, 'forward')
      checkSame(back, reference, 'backward')
      search.set('count', 'true')
      if ((await request(app, `GET /things?${search}`)).headers['x-total-count'] !== String(reference.length)) {
        throw new Error('the count is wrong')
      }
    }),
    sampleRuns(150)
  )
  t.pass('all lists')
})

test('paging through a QUERY, or its equal GET, returns what a plain filter and sort return', async (t) => {
  t.setTimeout(120_000)
  let equal = 0
  const runs = sampleRuns(150)
  await fc.assert(
    fc.asyncProperty(things, tree, sorts, fc.integer({ min: 1, max: 9 }), async (items, tree, sort, limit) => {
      const app = await serve(items)
      const query = { filter: content(tree), ...(sort.length > 0 && { sort }) }
      const { there, back } = await walk((at) => request(app, `QUERY ${at}`, { content: query }), `/things?limit=${limit}`)
      const reference = listExpected(items, tree, sort)
      checkSame(there, reference, 'forward')
      checkSame(back, reference, 'backward')
      const first = await request(app, 'QUERY /things', { content: { ...query, limit } })
      const location = first.headers['content-location']
      if (location === undefined) return
      equal++
      const get = await request(app, `GET ${location}`)
      if (
        get.payload !== first.payload ||
        get.headers.etag !== first.headers.etag ||
        get.headers.link !== first.headers.link
      ) {
        throw new Error(`${location} is not equal`)
      }
      checkSame((await walk((at) => request(app, `GET ${at}`), String(location))).there, reference, String(location))
    }),
    runs
  )
  t.ok(equal > runs.numRuns / 15, `${equal} of them have an equal GET`)
})

test('paging returns unchanged items exactly once while others insert, change and delete', async (t) => {
  t.setTimeout(120_000)
  let seed = 1
  const random = (below: number): number => {
    seed = (seed * 48271) % 2147483647
    return seed % below
  }
  for (const sort of ['', 'rank', '-rank', 'text,-rank', '-place.city,done', '-id', 'done']) {
    for (const relation of ['next', 'prev'] as const) {
      const make = (): object =>
        JSON.parse(
          JSON.stringify({
            text: [undefined, null, 'a', 'b', '😀'][random(5)],
            rank: [undefined, null, 1, 2, 3][random(5)],
            done: [undefined, true, false][random(3)],
            place: [undefined, null, { city: 'x' }, {}][random(4)]
          })
        )
      const items = Array.from({ length: 60 }, (_, index) => ({ id: index + 1, ...make() })) as Item[]
      // The writers change every third item, and properties that are not sorted by of some others.
      const steady = new Set(items.filter(({ id }) => id % 3 !== 0).map(({ id }) => id))
      const app = await build(t, [])
      await app.register(
        collection,
        define({ name: 'things', schema: Thing, storage: memory({ items }), id: { generate: 'storage' } })
      )
      const start = `/things?limit=7${sort === '' ? '' : `&sort=${sort}`}`
      let page = await request(app, `GET ${start}`)
      const way: number[] = []
      if (relation === 'prev') {
        while (links(page).next !== undefined) page = await request(app, `GET ${links(page).next}`)
      }
      for (let count = 0; ; count++) {
        way.push(...getIds(page))
        const at = links(page)[relation]
        if (at === undefined || count > 200) break
        const writes = Array.from({ length: 6 }, (_, turn) => {
          const id = 3 * (1 + random(20))
          if (turn === 0) return request(app, 'POST /things', { content: make() })
          if (turn === 1) return request(app, `DELETE /things/${id}`)
          if (turn === 2) {
            return request(app, `PATCH /things/${[...steady][random(steady.size)]}`, { content: { size: random(9) } })
          }
          return request(app, `PUT /things/${id}`, { content: make() })
        })
        const [next] = await Promise.all([request(app, `GET ${at}`), ...writes])
        page = next
      }
      const seen = way.filter((id) => steady.has(id))
      t.equal(seen.length, steady.size, `${relation} by ${sort || 'id'}: none is missing or listed twice`)
      t.equal(new Set(seen).size, steady.size)
    }
  }
})
