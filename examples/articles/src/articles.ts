import type { DatabaseSync } from 'node:sqlite'
import { Type } from '@sinclair/typebox'
import { define, json, problem } from 'fastify-collections'
import { hal } from 'fastify-collections/hal'
import { xml } from 'fastify-collections/xml'
import { sqlite } from 'fastify-collections/sqlite'
import { redirects } from 'fastify-collections/redirects'
import { expand } from 'fastify-collections/expand'
import type { authors } from './authors.ts'
import type { callers } from './callers.ts'
import { slugOf } from './slugs.ts'
import type { slugs } from './slugs.ts'

const Article = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  authorId: Type.String({ format: 'uuid' }),
  slug: Type.String({ maxLength: 200, readOnly: true }),
  title: Type.String({ minLength: 1, maxLength: 200 }),
  text: Type.String({ maxLength: 100_000, default: '' }),
  status: Type.Union([Type.Literal('draft'), Type.Literal('published')], { default: 'draft' }),
  publishedAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], { readOnly: true }),
  createdAt: Type.String({ format: 'date-time', readOnly: true }),
  updatedAt: Type.String({ format: 'date-time', readOnly: true })
})

const table = { name: 'articles', schema: Article, unique: ['slug'] } as const

interface Needed {
  readonly caller: ReturnType<typeof callers>
  readonly authors: Awaited<ReturnType<typeof authors>>
  readonly slugs: Awaited<ReturnType<typeof slugs>>
}

export async function articles (database: DatabaseSync, { caller, authors, slugs }: Needed) {
  const storage = sqlite(database, { indexes: [['createdAt']] })
  await storage.createTable(table)
  return define({
    ...table,
    storage,
    formats: [json, hal, xml],
    order: ['-createdAt'],
    search: ['title', 'text'],
    authentication: { caller, challenge: 'Bearer realm="articles"' },
    access: { list: 'public', read: 'public', remove: (request, action, who) => who === 'editor', every: 'authenticated' },
    // To the public there are no drafts.
    scope: (request, action, who) => who === undefined ? { filter: { property: 'status', is: 'eq', value: 'published' } } : undefined,
    // So an answer depends on who asks: the reader's own cache may keep it, and asks each time whether it is still the same.
    cache: 'private, no-cache',
    prepare: ({ item, before, request }) => {
      const [from, to] = [before?.status ?? 'draft', item.status]
      if (from === 'draft' && to === 'published' && caller(request) !== 'editor') throw problem('forbidden', { detail: 'An editor publishes an article.' })
      if (from === 'published' && to === 'draft') throw problem('conflict', { detail: 'What was published cannot become a draft again.' })
      const publishedAt = before?.publishedAt ?? (to === 'published' ? new Date().toISOString() : null)
      return { ...item, slug: slugOf(item.title), publishedAt }
    },
    // Old slugs lead to the article for good; so does the present one.
    changed: async ({ after }) => { if (after !== undefined) await slugs.keep(after.slug, after.id) }
  }).with(expand({ author: { collection: authors, property: 'authorId' } })).with(redirects({ to: slugs.articleOf }))
}
