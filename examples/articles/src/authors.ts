import type { DatabaseSync } from 'node:sqlite'
import { Type } from '@sinclair/typebox'
import { define, json } from 'fastify-collections'
import { hal } from 'fastify-collections/hal'
import { xml } from 'fastify-collections/xml'
import { sqlite } from 'fastify-collections/sqlite'
import type { callers } from './callers.ts'

const Author = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  name: Type.String({ minLength: 1, maxLength: 200 }),
  about: Type.Optional(Type.String({ maxLength: 2000 }))
})

const table = { name: 'authors', schema: Author } as const

export async function authors (database: DatabaseSync, caller: ReturnType<typeof callers>) {
  const storage = sqlite(database)
  await storage.createTable(table)
  return define({
    ...table,
    storage,
    formats: [json, hal, xml],
    // Articles refer to their authors, so authors stay.
    actions: ['list', 'create', 'read', 'replace', 'update'],
    authentication: { caller, challenge: 'Bearer realm="articles"' },
    access: { list: 'public', read: 'public', every: 'authenticated' },
    // The same for everybody, and seldom changed: any cache may keep it for five minutes.
    cache: 'public, max-age=300'
  })
}
