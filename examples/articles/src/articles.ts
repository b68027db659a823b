import { Type } from '@sinclair/typebox'
import { define, json } from 'fastify-collections'
import { action } from 'fastify-collections/action'
import { hal } from 'fastify-collections/hal'
import { xml } from 'fastify-collections/xml'
import { redirects } from 'fastify-collections/redirects'
import type { createAuthenticate } from './callers.ts'
import type { Database } from './database.ts'
import { toSlug } from './slugs.ts'
import type { Slugs } from './slugs.ts'

const Article = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  authorId: Type.String({ format: 'uuid' }),
  slug: Type.String({ maxLength: 200, readOnly: true }),
  title: Type.String({ minLength: 1, maxLength: 200 }),
  text: Type.String({ maxLength: 100_000, default: '' }),
  status: Type.Union([Type.Literal('draft'), Type.Literal('published')], { default: 'draft', readOnly: true }),
  publishedAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], { readOnly: true }),
  createdAt: Type.String({ format: 'date-time', readOnly: true }),
  updatedAt: Type.String({ format: 'date-time', readOnly: true })
})

interface Needed {
  readonly authenticate: ReturnType<typeof createAuthenticate>
  readonly slugs: Slugs
}

export function defineArticles (database: Database, { authenticate, slugs }: Needed) {
  return define({
    name: 'articles',
    schema: Article,
    unique: ['slug'],
    storage: database.storage(),
    formats: [json, hal, xml],
    list: { order: ['-createdAt'], search: ['title', 'text'] },
    access: {
      authenticate,
      challenge: 'Bearer realm="articles"',
      allow: { list: 'public', read: 'public', remove: ({ caller }) => caller === 'editor', all: 'authenticated' },
      // Anonymous callers see no drafts.
      scope: ({ caller }) =>
        caller === undefined ? { filter: { status: 'published' } } : undefined
    },
    // Responses depend on the caller, so only the cache of the browser may store them. It revalidates them each time.
    cache: 'private, no-cache',
    hooks: {
      beforeValidation: ({ item }) => ({ ...item, slug: toSlug(item.title), publishedAt: item.publishedAt ?? null }),
      // Old slugs redirect to the article.
      afterCommit: async ({ after }) => {
        if (after !== undefined) await slugs.keep(after.slug, after.id)
      }
    }
  }).with(
    redirects({ to: ({ id }) => slugs.findArticle(id) }),
    // Clients cannot write the status, so this is the only way to change it, and there is none back.
    action('publish', {
      allow: ({ caller }) => caller === 'editor',
      when: ({ item }) => item.status === 'draft' || 'The article is published already.',
      run: ({ item }) => ({ ...item, status: 'published', publishedAt: new Date().toISOString() })
    })
  )
}
