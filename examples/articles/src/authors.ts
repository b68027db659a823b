import { Type } from '@sinclair/typebox'
import { define, json } from 'fastify-collections'
import { hal } from 'fastify-collections/hal'
import { xml } from 'fastify-collections/xml'
import type { createAuthenticate } from './callers.ts'
import type { Database } from './database.ts'

const Author = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  name: Type.String({ minLength: 1, maxLength: 200 }),
  about: Type.Optional(Type.String({ maxLength: 2000 }))
})

export function defineAuthors (database: Database, authenticate: ReturnType<typeof createAuthenticate>) {
  return define({
    name: 'authors',
    schema: Author,
    storage: database.storage(),
    formats: [json, hal, xml],
    access: {
      authenticate,
      challenge: 'Bearer realm="articles"',
      allow: { list: 'public', read: 'public', remove: ({ caller }) => caller === 'editor', all: 'authenticated' }
    },
    // The same for all callers, and rarely changed: caches may store it for five minutes.
    cache: 'public, max-age=300'
  })
}
