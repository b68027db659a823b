import type { DatabaseSync } from 'node:sqlite'
import { Type } from '@sinclair/typebox'
import { define, json } from 'fastify-collections'
import { hal } from 'fastify-collections/hal'
import { xml } from 'fastify-collections/xml'
import { sqlite } from 'fastify-collections/sqlite'
import type { createAuthenticate } from './callers.ts'

const Author = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  name: Type.String({ minLength: 1, maxLength: 200 }),
  about: Type.Optional(Type.String({ maxLength: 2000 }))
})

const table = { name: 'authors', schema: Author } as const

export async function authors (database: DatabaseSync, authenticate: ReturnType<typeof createAuthenticate>) {
  const storage = sqlite(database)
  await storage.createTable(table)
  return define({
    ...table,
    storage,
    formats: [json, hal, xml],
    // Articles refer to their authors, so authors cannot be removed.
    actions: ['list', 'create', 'read', 'replace', 'update'],
    access: {
      authenticate,
      challenge: 'Bearer realm="articles"',
      allow: { list: 'public', read: 'public', all: 'authenticated' }
    },
    // The same for all callers, and rarely changed: caches may store it for five minutes.
    cache: 'public, max-age=300'
  })
}
