import { Type } from '@sinclair/typebox'
import { define, json } from 'fastify-collections'
import { hal } from 'fastify-collections/hal'
import { xml } from 'fastify-collections/xml'
import type { createAuthenticate } from './callers.ts'
import type { Database } from './database.ts'

const Comment = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  articleId: Type.String({ format: 'uuid' }),
  name: Type.String({ minLength: 1, maxLength: 200 }),
  text: Type.String({ minLength: 1, maxLength: 2000 }),
  createdAt: Type.String({ format: 'date-time', readOnly: true })
})

/** Comments are nested in articles, so those of a draft exist only for callers who see the draft. */
export function defineComments (database: Database, authenticate: ReturnType<typeof createAuthenticate>) {
  return define({
    name: 'comments',
    schema: Comment,
    storage: database.storage(),
    formats: [json, hal, xml],
    actions: ['list', 'create', 'read', 'remove'],
    list: { order: ['createdAt'] },
    access: {
      authenticate,
      challenge: 'Bearer realm="articles"',
      allow: { list: 'public', read: 'public', create: 'authenticated', all: ({ caller }) => caller === 'editor' }
    },
    cache: 'private, no-cache'
  })
}
