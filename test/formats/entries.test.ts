import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import { define, json } from '../../lib/index.ts'
import { action } from '../../lib/features/action.ts'
import { aggregates } from '../../lib/features/aggregates.ts'
import { bulk } from '../../lib/features/bulk.ts'
import { hal } from '../../lib/formats/hal.ts'
import { xml } from '../../lib/formats/xml.ts'
import { relate } from '../../lib/relations/relate.ts'
import { memory } from '../../lib/storage/memory.ts'
import { build, request } from '../app.ts'
import { allStorages } from '../storages.ts'

// Items with their ids and entity tags, in a media type that each collection with JSON offers.

const mediaType = 'application/vnd.fastify-collections.entries+json'
const fields = { accept: `${mediaType}, application/json;q=0.9` }

interface Entry {
  readonly id: string
  readonly tag: string
  readonly item: Record<string, unknown>
}

interface Page {
  readonly entries: readonly Entry[]
  readonly next: string | null
  readonly total?: number
}

const Note = Type.Object({
  slug: Type.String({ maxLength: 3 }),
  text: Type.String(),
  authorId: Type.String(),
  secret: Type.Optional(Type.String())
})
const Author = Type.Object({ id: Type.String(), name: Type.String() })

for (const { name, skip, open } of allStorages) {
  test(`${name}: every entry has the tag of the item in JSON`, { skip }, async (t) => {
    const { storage, prepare } = await open(t)
    const related = relate({
      authors: define({ name: 'authors', schema: Author, storage, id: { generate: 'client' } }),
      notes: define({
        name: 'notes',
        schema: Note,
        storage,
        id: { property: 'slug', generate: 'client' },
        put: { create: true },
        access: {
          allow: 'public',
          authenticate: ({ request }) => request.headers.authorization,
          visible: { secret: ({ caller }) => caller === 'root' }
        }
      }).with(
        bulk({ update: true }),
        aggregates({ by: ['authorId'] }),
        action('count', { output: Type.Object({ count: Type.Integer() }), run: () => ({ output: { count: 7 } }) }),
        action('touch', { run: ({ item }) => ({ ...item, text: `${item.text}!` }) })
      )
    }, { notes: { author: { to: 'authors', property: 'authorId' } } })
    for (const definition of Object.values(related)) await prepare(definition)
    const app = await build(t, Object.values(related))
    const send = (target: string, options: Parameters<typeof request>[2] = {}) => {
      return request(app, target, { ...options, fields: { ...fields, ...options.fields } })
    }
    const plainTag = async (slug: string, authorization?: string) => {
      return (await request(app, `GET /notes/${slug}`, { fields: { ...authorization && { authorization } } })).headers.etag
    }
    await request(app, 'POST /authors', { content: { id: 'ada', name: 'Ada' } })

    const content = { slug: 'a', text: 'A', authorId: 'ada', secret: 's' }
    const created = await send('POST /notes', { content, fields: { authorization: 'root' } })
    t.equal(created.statusCode, 201)
    t.equal(created.headers['content-type'], mediaType)
    t.strictSame(created.json(), {
      id: 'a',
      tag: await plainTag('a', 'root'),
      item: content
    })
    const put = await send('PUT /notes/b', { content: { slug: 'b', text: 'B', authorId: 'ada' } })
    t.strictSame(put.json(), { id: 'b', tag: await plainTag('b'), item: { slug: 'b', text: 'B', authorId: 'ada' } })
    t.notOk(put.headers.etag, 'the content is not what was sent')
    const many = await send('POST /notes', { content: [{ slug: 'c', text: 'C', authorId: 'ada' }] })
    t.strictSame((many.json() as Page).entries[0], { ...(await send('GET /notes/c')).json() })

    for (const url of ['/notes/a', '/notes/a?fields=text', '/notes/a?expand=author']) {
      const answer = await send(`GET ${url}`)
      const { id, tag } = answer.json() as Entry
      t.strictSame([id, tag], ['a', await plainTag('a')], url)
      t.not(answer.headers.etag, tag, 'other bytes have another tag')
      t.match(answer.headers.vary, /Accept/)
      t.equal((await send(`GET ${url}`, { fields: { 'if-none-match': String(answer.headers.etag) } })).statusCode, 304)
    }
    t.strictSame((await send('GET /notes/a?expand=author&fields=text')).json().item, {
      text: 'A',
      author: { id: 'ada', name: 'Ada' }
    })
    const root = (await send('GET /notes/a', { fields: { authorization: 'root' } })).json() as Entry
    t.equal(root.tag, await plainTag('a', 'root'))
    t.equal(root.item.secret, 's')

    const first = (await send('GET /notes?limit=2&fields=text&count=true&expand=author')).json() as Page
    t.strictSame(first.entries, [
      { id: 'a', tag: await plainTag('a'), item: { text: 'A', author: { id: 'ada', name: 'Ada' } } },
      { id: 'b', tag: await plainTag('b'), item: { text: 'B', author: { id: 'ada', name: 'Ada' } } }
    ])
    t.equal(first.total, 3)
    const cursor = String(first.next)
    const second = (await send(`GET /notes?limit=2&fields=text&cursor=${cursor}`)).json() as Page
    t.strictSame(second, { entries: [{ id: 'c', tag: await plainTag('c'), item: { text: 'C' } }], next: null })
    const queried = await send('QUERY /notes', { content: { limit: 2, cursor }, type: 'application/json' })
    t.strictSame((queried.json() as Page).entries.map(({ id }) => id), ['c'])
    t.equal((await send('GET /notes?offset=1&limit=1')).json().entries[0].id, 'b')

    const patched = await send('PATCH /notes/b', {
      content: { text: 'BB' },
      fields: { 'if-match': first.entries[1]!.tag }
    })
    t.equal(patched.statusCode, 200, 'a tag from a list')
    t.strictSame(patched.json().tag, await plainTag('b'))
    const stale = await send('DELETE /notes/b', { fields: { 'if-match': first.entries[1]!.tag } })
    t.strictSame([stale.statusCode, stale.headers['content-type']], [412, 'application/problem+json'])
    const touched = await send('POST /notes/b/touch')
    t.strictSame(touched.json(), {
      id: 'b',
      tag: await plainTag('b'),
      item: { slug: 'b', text: 'BB!', authorId: 'ada' }
    })
    const removed = await send('DELETE /notes/b', { fields: { prefer: 'return=representation' } })
    t.equal(removed.json().id, 'b')

    for (const [target, content] of [
      ['POST /notes/a/count', { count: 7 }],
      ['GET /notes/aggregate?count=true', { groups: [{ by: {}, count: 2 }], more: false }],
      ['PATCH /notes?text=A', { count: 1 }]
    ] as const) {
      const answer = await send(target, target.startsWith('PATCH') ? { content: { text: 'A' } } : {})
      t.equal(answer.headers['content-type'], 'application/json', target)
      t.strictSame(answer.json(), content, target)
    }
  })
}

test('entries are offered where JSON is, after the formats of the definition', async (t) => {
  const options = { schema: Author, storage: memory({ items: [{ id: 'ada', name: 'Ada' }] }) }
  const app = await build(t, [
    define({ ...options, name: 'plain' }),
    define({ ...options, name: 'halfirst', formats: [hal, json] }),
    define({ ...options, name: 'xmlonly', formats: [xml] })
  ])
  const read = async (url: string, accept: string) => {
    const { statusCode, headers } = await request(app, `GET ${url}`, { fields: { accept } })
    return statusCode === 200 ? headers['content-type'] : statusCode
  }
  for (const accept of ['*/*', 'application/*', 'application/json', `application/json, ${mediaType}`]) {
    t.equal(await read('/plain/ada', accept), 'application/json', accept)
  }
  t.equal(await read('/plain/ada', mediaType), mediaType)
  t.equal(await read('/halfirst', '*/*'), 'application/hal+json')
  t.equal(await read('/halfirst', fields.accept), mediaType)
  t.equal(await read('/xmlonly', mediaType), 406)
  const { tag } = (await request(app, 'GET /halfirst/ada', { fields })).json() as Entry
  const asJson = await request(app, 'GET /halfirst/ada', { fields: { accept: 'application/json' } })
  t.equal(tag, asJson.headers.etag)
  t.equal((await request(app, 'GET /plain/ada', { fields: { accept: 'text/html' } })).statusCode, 406)
  const sent = await request(app, 'POST /plain', { content: { id: 'x', name: 'X' }, type: mediaType })
  t.equal(sent.statusCode, 415)
})

test('the name and the media type of entries are reserved', async (t) => {
  for (const reserved of [{ ...hal, name: 'entries' }, { ...hal, mediaType }]) {
    t.throws(() => define({ name: 'notes', schema: Author, storage: memory(), formats: [json, reserved] }), {
      message: /which JSON adds itself\. Rename it, or remove it\./
    })
  }
})
