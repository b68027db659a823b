import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import { define } from '../../lib/index.ts'
import type { Thing } from '../../lib/storage/conformance.ts'
import type { Adapter, Context, Filter } from '../../lib/storage/index.ts'
import type { Definition } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { build, request } from '../app.ts'
import { databases } from '../storage/databases.ts'
import { query } from './query.ts'
import { things } from '../storage/things.ts'

const names = Array.from({ length: 120 }, (_, index) => `p${index}`)

const wide = (storage: Adapter<object>): Definition =>
  define({
    name: 'wide',
    schema: Type.Object({
      id: Type.String({ format: 'uuid', readOnly: true }),
      text: Type.String(),
      ...Object.fromEntries(names.map((name) => [name, Type.Optional(Type.Integer())]))
    }),
    storage
  } as never)

for (const { name, skip, open } of [{ name: 'memory', skip: false, open: undefined }, ...databases]) {
  test(`${name}: the largest allowed filter and the longest allowed lists return results`, { skip }, async (t) => {
    const database = await open?.()
    t.teardown(async () => {
      await database?.end()
    })
    const adapter = database?.adapter()
    const definition = wide((adapter ?? memory()) as Adapter<object>)
    await adapter?.createTable(definition)
    const app = await build(t, definition)
    t.equal((await request(app, 'POST /wide', { content: { text: 'aaab', p0: 1 } })).statusCode, 201)
    const countFound = async (filter: unknown) => {
      const answer = await request(app, 'QUERY /wide', { content: { filter } })
      return answer.statusCode === 200 ? answer.json().length : answer.body
    }
    t.equal(await countFound({ any: names.slice(0, 100).map((name) => ({ [name]: 1 })) }), 1)
    t.equal(await countFound({ all: names.slice(0, 99).map((name) => ({ [`${name}.ne`]: 2 })), not: { p0: 2 } }), 1)
    t.equal(await countFound({ any: Array.from({ length: 100 }, () => ({})) }), 1)
    const deep = (levels: number): object =>
      levels === 1
        ? { any: names.slice(0, 80).map((name) => ({ [name]: 1 })) }
        : { any: [{ p1: 5 }, { not: { all: [deep(levels - 2)] } }] }
    t.equal(await countFound(deep(9)), 1)
    const values = Array.from({ length: 1000 }, (_, index) => index)
    t.equal(await countFound({ 'p0.in': values }), 1)
    t.equal(await countFound({ 'text.like': '*a*a*ab*' }), 1)
    t.equal(await countFound({ 'text.like': `*${'a*'.repeat(4)}` }), 0)
    t.equal(
      await countFound({
        all: Array.from({ length: 5 }, (_, index) => ({
          'text.like': `${'a'.repeat(index % 3)}*${'*'.repeat(index % 4)}b`
        }))
      }),
      1
    )
  })

  test(`${name}: an access scope has no limit on conditions`, { skip }, async (t) => {
    const database = await open?.()
    t.teardown(async () => {
      await database?.end()
    })
    const adapter = database?.adapter()
    await adapter?.createTable(things)
    const storage = (adapter ?? memory())<Thing>(things)
    await storage.insert({ id: 'a', name: 'n2999' }, { signal: new AbortController().signal, scope: undefined })
    const names = (is: 'eq' | 'ne', count: number): Filter[] =>
      Array.from({ length: count }, (_, index) => ({ property: 'name', is, value: `n${index}` }))
    const within = (scope: Filter): Context => ({ signal: new AbortController().signal, scope })
    t.equal((await storage.list(query, within({ any: names('eq', 3000) }))).entries.length, 1)
    t.equal((await storage.list(query, within({ all: names('ne', 2999) }))).entries.length, 1)
    t.equal((await storage.find('a', within({ not: { any: names('eq', 3000) } })))?.id, undefined)
  })
}
