import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { LightMyRequestResponse } from 'fastify'
import { test } from 'tap'
import { action } from '../../../lib/features/action.ts'
import { aggregates } from '../../../lib/features/aggregates.ts'
import { softDelete } from '../../../lib/features/soft-delete.ts'
import { hal } from '../../../lib/formats/hal.ts'
import { html } from '../../../lib/formats/html.ts'
import { json } from '../../../lib/formats/json.ts'
import { xml } from '../../../lib/formats/xml.ts'
import collection, { define } from '../../../lib/index.ts'
import { relate } from '../../../lib/relations/relate.ts'
import { memory } from '../../../lib/storage/memory.ts'
import { controlClock } from '../../clock.ts'

// RFC 9110, section 15.4.5: a 304 has the headers of the 200 that caches need. Each read, in each format, must agree.

const Author = Type.Object({ id: Type.String(), name: Type.String(), email: Type.String() })
const Note = Type.Object({
  id: Type.String({ maxLength: 5 }),
  text: Type.String(),
  size: Type.Integer({ default: 1 }),
  authorId: Type.Optional(Type.String()),
  deletedAt: Type.Optional(Type.String({ format: 'date-time', readOnly: true })),
  updatedAt: Type.String({ format: 'date-time', readOnly: true })
})

async function serve () {
  const id = { generate: 'client' } as const
  const formats = [json, hal, xml, html]
  const { authors, notes } = relate({
    authors: define({
      name: 'authors',
      schema: Author,
      id,
      formats,
      storage: memory({ items: [{ id: 'ada', name: 'Ada', email: 'ada@example.com' }] }),
      access: {
        authenticate: ({ request }) => request.headers['x-user']?.toString(),
        allow: 'public',
        visible: { email: ({ caller }) => caller === 'ada' },
        vary: ['X-User']
      }
    }),
    notes: define({
      name: 'notes',
      schema: Note,
      id,
      formats,
      cache: { list: 'public, max-age=60', read: 'public, max-age=60' },
      timestamps: { updated: 'updatedAt' },
      list: { filter: ['text', 'authorId'] },
      storage: memory({
        items: ['a', 'b', 'c'].map((id) => ({ id, text: id, size: 1, authorId: 'ada', updatedAt: '2020-01-01T00:00:00.000Z' }))
      })
    })
      .with(softDelete({ property: 'deletedAt', allow: () => true }))
      .with(aggregates({ by: ['text'], of: { size: ['sum'] } }))
      .with(action('measure', {
        on: 'collection',
        safe: true,
        output: Type.Object({ size: Type.Integer() }),
        run: () => ({ output: { size: 3 } })
      }))
  }, { notes: { author: { to: 'authors', property: 'authorId' } } })
  const app = Fastify()
  await app.register(collection, authors)
  await app.register(collection, notes)
  await app.ready()
  return app
}

/** Headers that belong to the content, to the connection, or to the moment. */
const others = new Set(['content-type', 'content-length', 'content-security-policy', 'date', 'connection', 'keep-alive'])

function keep ({ headers }: LightMyRequestResponse): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !others.has(name)))
}

const targets = [
  '/notes/a',
  '/notes/a?fields=text',
  '/notes/a?expand=author',
  '/notes/a?expand=author&fields=text',
  '/notes/a?deleted=true',
  '/notes',
  '/notes?count=true&limit=1',
  '/notes?fields=text',
  '/notes?expand=author',
  '/notes?author.name=Ada',
  '/notes?deleted=true',
  '/notes/aggregate?by=text&sum=size',
  '/notes/aggregate?count=true&author.name=Ada',
  '/notes/measure',
  '/authors',
  '/authors/ada'
]

test('a 304 has the headers of the 200, without those of its content', async (t) => {
  const app = await serve()
  t.teardown(() => app.close())
  const accepts = [
    'application/json',
    'application/vnd.fastify-collections.entries+json',
    'application/hal+json',
    'application/xml',
    'text/html'
  ]
  for (const url of targets) {
    for (const accept of accepts) {
      const headers = { accept, 'x-user': 'ada' }
      const first = await app.inject({ url, headers })
      t.equal(first.statusCode, 200, `${url} ${accept}`)
      const again = await app.inject({ url, headers: { ...headers, 'if-none-match': String(first.headers.etag) } })
      t.equal(again.statusCode, 304, `${url} ${accept}`)
      t.strictSame(keep(again), keep(first), `${url} ${accept}`)
      t.notOk('content-type' in again.headers, 'no content')
    }
  }
  const content = { filter: { text: 'a' }, expand: ['author'] }
  const query = (headers: Record<string, string>) => app.inject({ method: 'QUERY' as 'GET', url: '/notes', payload: content, headers })
  const first = await query({})
  const again = await query({ 'if-none-match': String(first.headers.etag) })
  t.strictSame([again.statusCode, keep(again)], [304, keep(first)], 'QUERY')
})

test('what includes related items has no date, because they change separately', async (t) => {
  const app = await serve()
  t.teardown(() => app.close())
  // Representations are as old as the process.
  controlClock(t).advance(3_600_000)
  const since = { 'if-modified-since': new Date(Date.now() - 60_000).toUTCString() }
  for (const url of targets) {
    const hasDate = /^\/notes\/a(?:\?(?!expand)|$)/.test(url)
    const { headers } = await app.inject({ url })
    t.equal('last-modified' in headers, hasDate, url)
    t.equal((await app.inject({ url, headers: since })).statusCode, hasDate ? 304 : 200, `${url}, If-Modified-Since`)
  }
})
