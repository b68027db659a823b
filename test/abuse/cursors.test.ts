import { test } from 'tap'
import type { AccessContext } from '../../lib/index.ts'
import type { Test } from 'tap'
import type { FastifyInstance } from 'fastify'
import { memory } from '../../lib/storage/memory.ts'
import { build, created, notes, request } from '../app.ts'
import { databases } from '../storage/databases.ts'

// A long text in the property that a list is sorted by: the cursor stays short, and no item is missed or repeated.

const prefix = 'x'.repeat(6000)
const texts = [`${prefix}a`, prefix, `${prefix}b`, prefix, 'short', `${prefix}é`, `y${prefix}`, prefix, '']

interface Followed {
  readonly ids: string[]
  readonly longest: number
  readonly last: string
}

async function follow (t: Test, app: FastifyInstance, { from, rel }: { from: string; rel: string }): Promise<Followed> {
  const ids: string[] = []
  let longest = 0
  let last = from
  for (let url: string | undefined = from; url !== undefined;) {
    const answer = await request(app, `GET ${url}`)
    if (answer.statusCode !== 200) throw new Error(answer.body)
    const page = (answer.json() as Array<{ id: string }>).map(({ id }) => id)
    if (rel === 'prev') ids.unshift(...page)
    else ids.push(...page)
    last = url
    const link = String(answer.headers.link ?? '')
    t.ok(link.length < 8000, `a Link of ${link.length} characters`)
    for (const [, cursor = ''] of link.matchAll(/[?&]cursor=([^&>]*)/g)) longest = Math.max(longest, cursor.length)
    url = new RegExp(`<([^>]*)>; rel="${rel}"`).exec(link)?.[1]
  }
  return { ids, longest, last }
}

const next = (link: unknown) => /<([^>]*)>; rel="next"/.exec(String(link))![1]!

for (const { name, skip, open } of [{ name: 'memory', skip: false, open: undefined }, ...databases]) {
  test(`${name}: a list sorted by long texts can be paged forward and backward`, { skip }, async (t) => {
    const database = await open?.()
    t.teardown(async () => {
      await database?.end()
    })
    const adapter = database?.adapter()
    const definition = notes({ storage: adapter ?? memory() })
    await adapter?.createTable(definition)
    const app = await build(t, definition)
    for (const text of texts) await created(app, '/notes', { text })
    const all = (await request(app, 'GET /notes?sort=text')).json() as Array<{ id: string; text: string }>
    t.equal(all.length, texts.length)
    for (const sort of ['text', '-text']) {
      const expected = (await request(app, `GET /notes?sort=${sort}`)).json().map(({ id }: { id: string }) => id)
      const forth = await follow(t, app, { from: `/notes?sort=${sort}&limit=2`, rel: 'next' })
      t.strictSame(forth.ids, expected)
      t.ok(forth.longest > 0 && forth.longest <= 1024, `a cursor of ${forth.longest} characters`)
      const back = await follow(t, app, { from: forth.last, rel: 'prev' })
      t.strictSame(back.ids, expected)
    }
    // The first three by text are '', 'short' and one of the long ones.
    const url = next((await request(app, 'GET /notes?sort=text&limit=3')).headers.link)
    t.equal((await request(app, `GET ${url}`)).statusCode, 200)
    const at = `/notes/${all[2]!.id}`
    await request(app, `PATCH ${at}`, { content: { marks: { a: 1 } }, type: 'application/merge-patch+json' })
    t.equal((await request(app, `GET ${url}`)).statusCode, 200, 'another property does not matter')
    await request(app, `PATCH ${at}`, { content: { text: `${prefix}moved` }, type: 'application/merge-patch+json' })
    const expired = { status: 400, code: 'invalid-query', parameter: 'cursor', detail: /^cursor has expired/ }
    t.match((await request(app, `GET ${url}`)).json(), expired)
    await request(app, `PATCH ${at}`, { content: { text: all[2]!.text }, type: 'application/merge-patch+json' })
    t.equal((await request(app, `GET ${url}`)).statusCode, 200)
    await request(app, `DELETE ${at}`)
    t.match((await request(app, `GET ${url}`)).json(), expired)
  })
}

test('a cursor does not lead to an item that the caller cannot see', async (t) => {
  const app = await build(
    t,
    notes({
      access: {
        scope: ({ request }: AccessContext) =>
          request?.headers['x-all'] === undefined ? { filter: { 'text.lt': 'x' } } : undefined
      }
    } as never)
  )
  for (const text of [prefix, `${prefix}a`]) {
    await request(app, 'POST /notes', { content: { text }, fields: { 'x-all': '1' } })
  }
  const first = await request(app, 'GET /notes?sort=text&limit=1', { fields: { 'x-all': '1' } })
  const url = next(first.headers.link)
  t.equal((await request(app, `GET ${url}`, { fields: { 'x-all': '1' } })).json().length, 1)
  t.match((await request(app, `GET ${url}`)).json(), { status: 400, parameter: 'cursor' })
})

test('a cursor with a malformed item reference returns 400', async (t) => {
  const app = await build(t, notes())
  for (const content of [
    '["after",{"id":7,"hash":"x"}]',
    '["after",{"id":"a"}]',
    '["after",{"hash":"x"}]',
    '["after",{"id":true,"hash":"x"}]',
    '["up",{"id":"a","hash":"x"}]'
  ]) {
    const cursor = Buffer.from(`0000000${content}`).toString('base64url')
    t.equal((await request(app, `GET /notes?cursor=${cursor}`)).statusCode, 400)
  }
})

test('with a long query, the Link header contains only the next page', async (t) => {
  const app = await build(t, notes())
  for (const text of ['a', 'b', 'c']) await created(app, '/notes', { text })
  const query = `text.ne=${'x'.repeat(6000)}&limit=1`
  const link = String((await request(app, `GET /notes?${query}`)).headers.link)
  t.match(link, /rel="next"/)
  t.notMatch(link, /rel="first"/)
  t.ok(link.length < 8000)
  const { ids } = await follow(t, app, { from: `/notes?${query}`, rel: 'next' })
  t.equal(new Set(ids).size, 3)
})
