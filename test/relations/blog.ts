import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import collection, { define, json } from '../../lib/index.ts'
import { registry } from '../../lib/app/registry.ts'
import { hal } from '../../lib/formats/hal.ts'
import { html } from '../../lib/formats/html.ts'
import { xml } from '../../lib/formats/xml.ts'
import { relate } from '../../lib/relations/relate.ts'
import { memory } from '../../lib/storage/memory.ts'

// A blog whose collections are related to each other, for the tests of relations.

const stamp = Type.String({ format: 'date-time', readOnly: true })

const User = Type.Object({
  id: Type.String(),
  name: Type.String(),
  country: Type.String(),
  email: Type.Optional(Type.String()),
  password: Type.Optional(Type.String({ writeOnly: true })),
  managerId: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  updatedAt: stamp
})
const Article = Type.Object({
  id: Type.String(),
  title: Type.String(),
  authorId: Type.Union([Type.String(), Type.Null()]),
  editorId: Type.Optional(Type.String()),
  updatedAt: stamp
})
const Comment = Type.Object({
  id: Type.Integer(),
  text: Type.String(),
  articleId: Type.String(),
  authorId: Type.String(),
  isSpam: Type.Boolean({ default: false })
})

const updatedAt = '2026-01-01T00:00:00.000Z'

const users = [
  { id: 'u1', name: 'Ada', country: 'AT', email: 'ada@example.com', password: 'secret', managerId: 'u2', updatedAt },
  { id: 'u2', name: 'Bob', country: 'DE', email: 'bob@example.com', managerId: 'u3', updatedAt },
  { id: 'u3', name: 'Cleo', country: 'AT', email: 'cleo@example.com', managerId: null, updatedAt }
]
const articles = [
  { id: 'a1', title: 'One', authorId: 'u1', editorId: 'u2', updatedAt },
  { id: 'a2', title: 'Two', authorId: 'u2', updatedAt },
  { id: 'a3', title: 'Three', authorId: null, updatedAt },
  { id: 'a4', title: 'Four', authorId: 'nobody', updatedAt }
]
/** Of the 15 comments, a1 has 10 and a2 has 5. */
const comments = Array.from({ length: 15 }, (_, index) => ({
  id: index + 1,
  text: `c${index + 1}`,
  articleId: index % 3 === 0 ? 'a2' : 'a1',
  authorId: index % 2 === 0 ? 'u1' : 'u2',
  isSpam: index === 4
}))

const formats = [json, hal, xml, html]
const cache = 'private, no-cache'

const authenticate = ({ request }: { request: FastifyRequest }) => request.headers['x-user']?.toString()

/** With rules, anonymous callers see no users, no spam and no emails; "root" sees everything. */
export function defineBlog ({ hasRules = false } = {}) {
  // One storage, so that its collections can be related in filters.
  const one = memory()
  const isRoot = ({ caller }: { caller?: unknown }) => caller === 'root'
  return relate({
    users: define({
      name: 'users',
      schema: User,
      id: { generate: 'client' },
      storage: one,
      formats,
      cache,
      ...hasRules && {
        access: {
          authenticate,
          allow: { all: 'public', list: 'authenticated', read: 'authenticated' },
          visible: { email: isRoot }
        }
      }
    }),
    articles: define({
      name: 'articles',
      schema: Article,
      id: { generate: 'client' },
      storage: one,
      formats,
      cache,
      ...hasRules && { access: { authenticate, allow: 'public' } }
    }),
    comments: define({
      name: 'comments',
      schema: Comment,
      id: { generate: 'storage' },
      storage: one,
      formats,
      cache,
      ...hasRules && {
        access: {
          authenticate,
          allow: 'public',
          scope: ({ caller }: { caller?: unknown }) => {
            return caller === 'root' ? undefined : { filter: { isSpam: false } }
          }
        }
      }
    })
  }, {
    users: { articles: { to: 'articles', by: 'authorId' }, manager: { to: 'users', property: 'managerId' } },
    articles: {
      author: { to: 'users', property: 'authorId' },
      editor: { to: 'users', property: 'editorId' },
      comments: { to: 'comments', by: 'articleId', limit: 3 }
    },
    comments: { author: { to: 'users', property: 'authorId' }, article: { to: 'articles', property: 'articleId' } }
  })
}

export type Blog = ReturnType<typeof defineBlog>

interface Closing {
  after (close: () => Promise<unknown>): void
}

/** Serves the blog, with its items. */
export async function serveBlog (t: Closing, blog: Blog = defineBlog()): Promise<FastifyInstance> {
  const app: FastifyInstance = Fastify({ forceCloseConnections: true })
  t.after(() => app.close())
  await app.register(registry)
  for (const definition of Object.values(blog)) await app.register(collection, definition)
  await app.ready()
  const context = { signal: new AbortController().signal, scope: undefined }
  for (const [definition, items] of [
    [blog.users, users],
    [blog.articles, articles],
    [blog.comments, comments]
  ] as const) {
    for (const item of items) await definition.storage.insert(item as never, context)
  }
  return app
}
