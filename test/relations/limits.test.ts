import { readFileSync } from 'node:fs'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import { define } from '../../lib/index.ts'
import { relate } from '../../lib/relations/relate.ts'
import { memory } from '../../lib/storage/memory.ts'
import { build, request } from '../app.ts'

// The section about relations of docs/limits.md, line by line: a request at the limit succeeds, and one beyond it is
// refused with the limit in its detail.

const count = (length: number, prefix: string): string[] => Array.from({ length }, (_, index) => `${prefix}${index}`)

const numbers = count(25, 'n')
const ones = count(45, 'one')

/** A tree. Each item has a parent, by 45 names, and children. */
async function serve (t: Test): Promise<FastifyInstance> {
  const Node = Type.Object({
    id: Type.Integer(),
    parentId: Type.Optional(Type.Integer()),
    ...Object.fromEntries(numbers.map((name) => [name, Type.Optional(Type.Integer())]))
  })
  const items = [{ id: 1 }, { id: 2, parentId: 1 }, { id: 3, parentId: 2 }]
  const { nodes } = relate({
    nodes: define({ name: 'nodes', schema: Node, id: { generate: 'storage' }, storage: memory({ items }) })
  }, {
    nodes: {
      ...Object.fromEntries(ones.map((name) => [name, { to: 'nodes', property: 'parentId' } as const])),
      children: { to: 'nodes', by: 'parentId' }
    }
  })
  return build(t, nodes)
}

/** Different conditions, each of which counts as one. */
function writeConditions (amount: number): string[] {
  return ['lt', 'lte', 'gt', 'gte', 'ne'].flatMap((is) => numbers.map((name) => `${name}.${is}=1`)).slice(0, amount)
}

/** Conditions that count as so many: those about related items as 6, with the relation. */
function writeRelatedConditions (amount: number): string[] {
  const related = ones.slice(0, Math.floor(amount / 6)).map((name) => `${name}.n0=1`)
  return [...related, ...writeConditions(amount % 6)]
}

/** Two numbers up to 100 whose product is this one. */
function factor (product: number): [number, number] {
  const first = Array.from({ length: 100 }, (_, index) => 100 - index)
    .find((number) => product % number === 0 && product / number <= 100)
  if (first === undefined) throw new Error(`${product} has no such factors`)
  return [first, product / first]
}

interface Line {
  readonly send: (app: FastifyInstance, amount: number) => Promise<LightMyRequestResponse>
  /** Names the limit in the response beyond it. */
  readonly says: RegExp
}

const get = (app: FastifyInstance, query: string): Promise<LightMyRequestResponse> => request(app, `GET /nodes?${query}`)
const query = (app: FastifyInstance, content: object): Promise<LightMyRequestResponse> =>
  request(app, 'QUERY /nodes', { content })
const repeat = (levels: number, name = 'one0'): string => Array.from({ length: levels }, () => name).join('.')

const lines: Readonly<Record<string, Line>> = {
  'levels of expand': {
    send: (app, levels) => get(app, `expand=${repeat(levels)}`),
    says: /At most 3 relations can follow each other\./
  },
  'levels of relations in a filter': {
    send: (app, levels) => get(app, `${repeat(levels)}.n0=1`),
    says: /At most 3 relations can follow each other\./
  },
  'paths in expand': {
    send: (app, paths) => get(app, `limit=1&expand=${ones.slice(0, paths).join()}`),
    says: /up to 20 relations/
  },
  'relations that an object in expand includes, without those on the way': {
    send (app, relations) {
      const [first, ...others] = ones.slice(0, relations)
      const inner = Object.fromEntries(others.map((name) => [name, true]))
      return query(app, { limit: 1, expand: { [first!]: true, children: { limit: 1, expand: inner } } })
    },
    says: /includes 21 relations, and at most 20 are possible/
  },
  'related items that the response could include, by its limits': {
    send (app, items) {
      const [limit, included] = factor(items)
      return get(app, `limit=${limit}&expand=children&expand.children.limit=${included}`)
    },
    says: /could include 2001 related items, and at most 2000 are possible/
  },
  'items of an included list': {
    send: (app, items) => get(app, `limit=1&expand=children&expand.children.limit=${items}`),
    says: /whole number from 0 to 100/
  },
  'conditions of a filter, in which each relation counts as 5': {
    send: (app, conditions) => get(app, writeRelatedConditions(conditions).join('&')),
    says: /at most 100 conditions.*each relation counts as 5 conditions/
  },
  'conditions of a filter in the content of QUERY, in which each relation counts as 5': {
    send (app, conditions) {
      const all = writeRelatedConditions(conditions).map((condition) => {
        const [name, value] = condition.split('=')
        return { [name!]: Number(value) }
      })
      return query(app, { filter: { any: all } })
    },
    says: /at most 100 conditions.*each relation counts as 5 conditions/
  },
  'conditions of the filters of all included lists': {
    send (app, conditions) {
      const all = writeConditions(conditions)
      const parameters = all.map((condition, index) => {
        return `expand.children.${index % 2 === 0 ? '' : 'children.'}${condition}`
      })
      return get(app, `limit=1&expand=children.children&${parameters.join('&')}`)
    },
    says: /filters of what is included are too large.*at most 100 conditions/
  },
  'numbers in a list that a count is compared with': {
    send: (app, amount) => get(app, `children.count.in=${count(amount, '').join()}`),
    says: /at most 100 conditions.*each relation counts as 5 conditions/
  },
  'properties of related items in sort': {
    send: (app, properties) => get(app, `sort=${ones.slice(0, properties).map((name) => `${name}.n0`).join()}`),
    says: /an order by at most 10 properties of related items/
  },
  'relations that a query refers to, in expand, filters and sort': {
    send (app, relations) {
      const expand = ones.slice(0, 19).map((name) => `${name}.one1.one2`) // 57, and children
      const included = ones.slice(0, 10).map((name) => `expand.children.${name}.children.count=1`) // 20
      const sort = ones.slice(19, 29).map((name) => `${name}.n0`) // 10
      const filter = ones.slice(29).slice(0, relations - 88).map((name) => `${name}.n0=1`) // one each
      const parameters = [`expand=children,${expand.join()}`, `sort=${sort.join()}`, ...included, ...filter]
      return get(app, `limit=1&${parameters.join('&')}`)
    },
    says: /The query refers to more than 100 relations\./
  }
}

const page = readFileSync(new URL('../../docs/limits.md', import.meta.url), 'utf8')
const table = page
  .slice(page.indexOf('## Relation limits'), page.indexOf('## Aggregate limits'))
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .slice(1)
  .map((line) => line.split('|').slice(1, -1).map((cell) => cell.trim().replaceAll('`', '')))

test('docs/limits.md has a line for each limit of relations tested here, and no others', async (t) => {
  t.strictSame(table.map(([what]) => what), Object.keys(lines))
})

for (const [what = '', most, past = ''] of table) {
  test(`${what}: at most ${most}, then ${past}`, async (t) => {
    const { send, says } = lines[what]!
    const app = await serve(t)
    const within = await send(app, Number(most))
    t.equal(within.statusCode, 200, within.body)
    const refused = await send(app, Number(most) + 1)
    const [status, code] = past.split(' ')
    const { detail, errors } = refused.json()
    t.strictSame([refused.statusCode, refused.json().code], [Number(status), code])
    t.match(`${detail} ${errors?.[0].message}`, says)
  })
}

test('a filter in QUERY counts relations in dotted names, and in some, none and count, as well', async (t) => {
  const app = await serve(t)
  const some = { children: { some: { n0: 1 }, none: { n0: 1 }, 'count.gte': 3 } } // 6, 6 and 5
  const at = (filter: object) => query(app, { filter })
  t.equal((await at({ any: Array.from({ length: 5 }, (_, index) => ({ ...some, n1: index })) })).statusCode, 200)
  const refused = await at({ any: Array.from({ length: 6 }, (_, index) => ({ ...some, n1: index })) })
  t.match(refused.json(), { status: 422, errors: [{ pointer: '/filter', message: /each relation counts as 5/ }] })
})

test('the levels of an included list and of its filter are counted together', async (t) => {
  const app = await serve(t)
  const filter = (levels: number) => get(app, `limit=1&expand=children&expand.children.${repeat(levels)}.n0=1`)
  t.equal((await filter(2)).statusCode, 200)
  const refused = await filter(3)
  t.equal(refused.statusCode, 400)
  t.match(refused.json().detail, /At most 3 relations can follow each other\./)
  const tooDeep = { one0: { one0: { one0: { one0: { n0: 1 } } } } }
  const nested = await query(app, { filter: tooDeep })
  t.match(nested.json(), { status: 422, detail: /At most 3 relations can follow each other\./ })
})

test('the GET that is equivalent to a QUERY has as many paths', async (t) => {
  const app = await serve(t)
  const expand = ones.slice(0, 20).map((name) => `${name}.one0.one0`)
  const { headers } = await query(app, { limit: 1, expand })
  const equivalent = await request(app, `GET ${String(headers['content-location'])}`)
  t.equal(equivalent.statusCode, 200, equivalent.body)
})
