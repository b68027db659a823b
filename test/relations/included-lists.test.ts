import { Type } from '@sinclair/typebox'
import { test } from 'tap'
import type { Test } from 'tap'
import { define } from '../../lib/index.ts'
import { relate } from '../../lib/relations/relate.ts'
import { memory } from '../../lib/storage/memory.ts'
import { build, request } from '../app.ts'

const User = Type.Object({ id: Type.Integer(), name: Type.String() })
const Article = Type.Object({ id: Type.Integer(), title: Type.String() })
const Comment = Type.Object({
  id: Type.Integer(),
  articleId: Type.Integer(),
  authorId: Type.Integer(),
  score: Type.Integer()
})

/** Six comments by two users on one article, with descending scores. */
async function serve (t: Test) {
  const items = Array.from({ length: 6 }, (_, index) => {
    return { id: index + 1, articleId: 1, authorId: 1 + index % 2, score: -index }
  })
  const id = { generate: 'storage' } as const
  const definitions = relate({
    users: define({
      name: 'users',
      schema: User,
      id,
      storage: memory({ items: [{ id: 1, name: 'Ada' }, { id: 2, name: 'Bob' }] })
    }),
    articles: define({ name: 'articles', schema: Article, id, storage: memory({ items: [{ id: 1, title: 'One' }] }) }),
    comments: define({
      name: 'comments',
      schema: Comment,
      id,
      storage: memory({ items }),
      access: { visible: { score: ({ request }) => request?.headers['x-user'] === 'admin' } }
    })
  }, {
    users: { comments: { to: 'comments', by: 'authorId' } },
    articles: { comments: { to: 'comments', by: 'articleId', order: ['score'], limit: 2 } },
    comments: { author: { to: 'users', property: 'authorId' } }
  })
  const app = await build(t, Object.values(definitions))
  return async (url: string, user = 'ada') => {
    const answer = await request(app, `GET ${url}`, { fields: { 'x-user': user } })
    return answer.json()
  }
}

type Ids = ReadonlyArray<{ readonly id: number }>

function getIds (items: Ids): number[] {
  return items.map(({ id }) => id)
}

test('conditions of an included list can be about items that it includes', async (t) => {
  const get = await serve(t)
  const cases: ReadonlyArray<[expand: string, condition: string, ids: number[]]> = [
    ['comments', 'author.name=Bob', [2, 4, 6]],
    ['comments.author', 'author.name=Bob', [2, 4, 6]],
    ['comments.author.comments', 'author.comments.some.id=5', [1, 3, 5]],
    ['comments.author.comments', 'author.comments.count.gte=4', []],
    ['comments.author.comments', 'author.comments.count.eq=3', [1, 2, 3, 4, 5, 6]]
  ]
  for (const [expand, condition, ids] of cases) {
    const parameters = `expand=${expand}&expand.comments.sort=id&expand.comments.limit=2&expand.comments.${condition}`
    const { comments } = await get(`/articles/1?${parameters}`)
    t.same(getIds(comments.items), ids.slice(0, 2), parameters)
    const rest = comments.next === undefined ? [] : await get(comments.next)
    t.same(getIds(rest), ids.slice(2, 4), comments.next)
  }
})

test('the default order of an included list does not reveal a property that the caller does not see', async (t) => {
  const get = await serve(t)
  const url = '/articles/1?expand=comments'
  t.same(getIds((await get(url, 'admin')).comments.items), [6, 5])
  const { comments } = await get(url)
  t.same(getIds(comments.items), [1, 2])
  t.same(getIds(await get(comments.next)), [3, 4])
})
