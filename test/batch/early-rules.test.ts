import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import { reactAdmin } from '../../lib/features/query-syntaxes/react-admin.ts'
import { define } from '../../lib/index.ts'
import { relate } from '../../lib/relations/relate.ts'
import { memory } from '../../lib/storage/memory.ts'
import { sendBatch, serveShop } from './shop.ts'

// The rules of all parts are called before the transaction begins, those of related collections too.

const Article = Type.Object({
  id: Type.String(),
  authorId: Type.String(),
  text: Type.Optional(Type.String())
})

const User = Type.Object({ id: Type.String(), name: Type.Optional(Type.String()) })

const id = { generate: 'client' } as const

test('a reference is never the name of a parameter, nor in a value that contains names', async (t) => {
  const calls: string[] = []
  const storage = memory()
  const { articles, users } = relate({
    articles: define({ name: 'articles', schema: Article, id, storage }).with(reactAdmin()),
    users: define({
      name: 'users',
      schema: User,
      id,
      storage,
      access: { allow: ({ action }) => { calls.push(action); return true } }
    })
  }, { articles: { author: { to: 'users', property: 'authorId' } } })
  const app = await serveShop(t, { articles, users })
  const send = (search: string) => sendBatch(app, [
    { id: 'a', method: 'POST', path: '/articles', content: { id: 'author', authorId: 'x', text: 'a1' } },
    { method: 'GET', path: `/articles?${search}` }
  ])
  for (const [search, message] of [
    ['{a#/id}=1', /has a reference in the name of a parameter/],
    ['{a#/id}.name=1', /has a reference in the name of a parameter/],
    ['{a#/id}', /has a reference in the name of a parameter/],
    ['expand={a#/id}', /has a reference in "expand"/],
    ['text=a1&s%6Frt=-{a#/id}', /has a reference in "sort"/],
    ['expand=author&expand.author.sort={a#/text}', /has a reference in "expand.author.sort"/],
    ['filter=%7B%22text%22:%22{a#/text}%22%7D', /has a reference in "filter"/],
    ['embed={a#/text}', /has a reference in "embed"/]
  ] as const) {
    const response = await send(search)
    t.equal(response.statusCode, 422, search)
    t.match(response.json(), { code: 'validation-failed', errors: [{ pointer: '/1/path', message }] }, search)
  }
  t.strictSame(calls, [])
  t.match((await send('text={a#/text}&author.id.ne={a#/id}&expand=author')).json(), [{ status: 201 }, { status: 200 }])
})
