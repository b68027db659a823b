import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import { memory } from '../../lib/storage/memory.ts'
import { relate } from '../../lib/relations/relate.ts'
import { build, created, notes, request } from '../app.ts'
import { databases } from '../storage/databases.ts'
import { define } from '../define.ts'

// Items may be large, but a page is not: it ends early, and its links lead to the rest.

const longest = 4_194_304
const text = 'x'.repeat(900_000)

interface Walk {
  readonly pages: string[][]
  readonly longest: number
  readonly last: string
}

async function follow (
  app: FastifyInstance,
  { from, rel, format = 'application/json' }: { from: string; rel: string; format?: string }
): Promise<Walk> {
  const pages: string[][] = []
  let longest = 0
  let last = from
  for (let url: string | undefined = from; url !== undefined;) {
    const answer = await request(app, `GET ${url}`, { fields: { accept: format } })
    if (answer.statusCode !== 200) throw new Error(answer.body)
    longest = Math.max(longest, answer.payload.length)
    pages.push([...answer.payload.matchAll(/title(?:":"|>)(\d+)/g)].map(([, title]) => title!))
    last = url
    url = new RegExp(`<([^>]*)>; rel="${rel}"`).exec(String(answer.headers.link ?? ''))?.[1]
  }
  return { pages, longest, last }
}

const Story = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  title: Type.String(),
  text: Type.Optional(Type.String()),
  book: Type.Optional(Type.String())
})

const titles = Array.from({ length: 12 }, (_, index) => String(index + 10))

for (const { name, skip, open } of [{ name: 'memory', skip: false, open: undefined }, ...databases]) {
  test(`${name}: a list of long items is split into short pages, forward and backward`, { skip }, async (t) => {
    const database = await open?.()
    t.teardown(async () => {
      await database?.end()
    })
    const adapter = database?.adapter()
    const definition = define({ name: 'stories', schema: Story, storage: adapter ?? memory() })
    await adapter?.createTable(definition)
    const app = await build(t, definition)
    for (const title of titles) await created(app, '/stories', { title, text })
    for (const format of ['application/json', 'application/xml', 'application/hal+json']) {
      const forth = await follow(app, { from: '/stories?sort=title', rel: 'next', format })
      t.strictSame(forth.pages, [titles.slice(0, 4), titles.slice(4, 8), titles.slice(8)])
      t.ok(forth.longest < longest * 1.01)
      const back = await follow(app, { from: forth.last, rel: 'prev', format })
      t.strictSame(back.pages, [titles.slice(8), titles.slice(4, 8), titles.slice(0, 4)])
    }
    t.equal(
      (await request(app, 'GET /stories?sort=title&fields=title')).json().length,
      titles.length,
      'only the selected properties count'
    )
  })
}

test('an expanded item counts toward the page size once for each item that includes it', async (t) => {
  const { books, stories } = relate(
    { books: notes(), stories: define({ name: 'stories', schema: Story, storage: memory() }) },
    { stories: { bound: { to: 'books', property: 'book' } } }
  )
  const app = await build(t, [books, stories])
  const {
    item: { id }
  } = await created(app, '/notes', { text })
  for (const title of titles) await created(app, '/stories', { title, book: id })
  t.strictSame((await follow(app, { from: '/stories?sort=title', rel: 'next' })).pages, [titles])
  const { pages, longest: length } = await follow(app, { from: '/stories?sort=title&expand=bound', rel: 'next' })
  t.strictSame(pages, [titles.slice(0, 4), titles.slice(4, 8), titles.slice(8)])
  t.ok(length < longest * 1.01)
})

test('an item longer than a page gets a page of its own', async (t) => {
  const definition = define({ name: 'stories', schema: Story, storage: memory() })
  const app = await build(t, definition, { bodyLimit: 10_000_000 })
  for (const title of ['10', '11', '12']) await created(app, '/stories', { title, text: 'x'.repeat(5_000_000) })
  t.strictSame((await follow(app, { from: '/stories?sort=title', rel: 'next' })).pages, [['10'], ['11'], ['12']])
})

test('the ETag of a page that ends early works for If-None-Match', async (t) => {
  const definition = define({ name: 'stories', schema: Story, storage: memory() })
  const app = await build(t, definition)
  for (const title of titles) await created(app, '/stories', { title, text })
  const first = await request(app, 'GET /stories')
  const { etag = '' } = first.headers
  t.equal((await request(app, 'GET /stories', { fields: { 'if-none-match': etag } })).statusCode, 304)
  await request(app, `DELETE /stories/${first.json()[0].id}`)
  t.equal((await request(app, 'GET /stories', { fields: { 'if-none-match': etag } })).statusCode, 200)
})
