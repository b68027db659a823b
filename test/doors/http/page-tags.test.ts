import { test } from 'tap'
import { memory } from '../../../lib/storage/memory.ts'
import { Type } from '@sinclair/typebox'
import { build, request } from '../../app.ts'
import { define } from '../../define.ts'

const Note = Type.Object({ id: Type.Integer({ readOnly: true }), text: Type.String() })
const notes = () =>
  define({
    name: 'notes',
    schema: Note,
    id: { generate: 'storage' },
    storage: memory({ items: [1, 2, 3].map((id) => ({ id, text: `Note ${id}` })) })
  })

test('a page has the same tag and content until anything on it changes', async (t) => {
  const app = await build(t, notes())
  const list = async (query: string) => {
    const { headers, body } = await request(app, `GET /notes${query}`)
    return { etag: headers.etag, link: headers.link, total: headers['x-total-count'], body }
  }
  const first = await list('?limit=2')
  t.strictSame(await list('?limit=2'), first, 'the same entries')
  await request(app, 'PATCH /notes/2', {
    content: '{"text":"changed"}',
    fields: { 'content-type': 'application/merge-patch+json' }
  })
  const changed = await list('?limit=2')
  t.not(changed.etag, first.etag)
  t.match(changed.body, /changed/)
  t.equal((await list('?limit=2&count=true')).total, '3')
  await request(app, 'DELETE /notes/3')
  const last = await list('?limit=2')
  t.equal(last.link, undefined, 'no next page')
  t.equal((await list('?limit=2&count=true')).total, '2', 'another total with the same entries')
  t.equal((await request(app, 'GET /notes?limit=2', { fields: { 'if-none-match': last.etag as string } })).statusCode, 304)
})

test('a page has only the items and the properties that its caller sees', async (t) => {
  const Secret = Type.Object({
    id: Type.Integer(),
    owner: Type.String(),
    salary: Type.Optional(Type.Integer()),
    text: Type.String()
  })
  const items = ['ada', 'bob', 'ada', 'bob'].map((owner, index) => ({
    id: index + 1,
    owner,
    salary: index,
    text: `of ${owner}`
  }))
  const app = await build(
    t,
    define({
      name: 'secrets',
      schema: Secret,
      id: { generate: 'storage' },
      storage: memory({ items }),
      access: {
        authenticate: ({ request }) => request.headers['x-user']?.toString(),
        scope: ({ caller }) => (caller === 'hr' || caller === 'auditor' ? undefined : { values: { owner: caller! } }),
        visible: { salary: ({ caller }) => caller === 'hr' }
      },
      links: ({ item }) => ({ owner: { href: `/owners/${item.owner}` } })
    })
  )
  const callers = ['ada', 'bob', 'hr', 'auditor', 'eve']
  const list = async (caller: string, url: string, accept = 'application/json') => {
    const { headers, body } = await request(app, `GET ${url}`, { fields: { 'x-user': caller, accept } })
    return { etag: headers.etag, link: headers.link, total: headers['x-total-count'], body }
  }
  for (const url of ['/secrets', '/secrets?limit=1&count=true', '/secrets?sort=-text']) {
    for (const accept of ['application/json', 'application/hal+json', 'application/xml']) {
      const alone = new Map<string, unknown>()
      for (const caller of callers) {
        alone.set(caller, await list(caller, url, accept))
      }
      for (const caller of [...callers, ...callers.toReversed(), ...callers]) {
        t.strictSame(await list(caller, url, accept), alone.get(caller), `${caller} ${url} ${accept}`)
      }
      for (const caller of ['ada', 'bob', 'eve']) {
        const { body } = await list(caller, url, accept)
        t.notMatch(body, /salary/)
        for (const other of ['ada', 'bob'].filter((name) => name !== caller)) t.notMatch(body, `of ${other}`)
      }
      t.notMatch((await list('auditor', url, accept)).body, /salary/)
      t.match((await list('hr', url, accept)).body, /salary/)
    }
  }
  const tags = await Promise.all(['hr', 'auditor'].map(async (caller) => (await list(caller, '/secrets')).etag))
  t.not(tags[0], tags[1], 'different content has a different tag')
})
