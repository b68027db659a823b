import type { DatabaseSync } from 'node:sqlite'
import { Type } from '@sinclair/typebox'
import type { Static } from '@sinclair/typebox'
import { define, json, problem } from 'fastify-collections'
import { xml } from 'fastify-collections/xml'
import { sqlite } from 'fastify-collections/sqlite'
import { hash } from './password.ts'

const User = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  email: Type.String({ format: 'email', maxLength: 200 }),
  name: Type.String({ minLength: 1, maxLength: 200 }),
  role: Type.Union([Type.Literal('admin'), Type.Literal('member')], { default: 'member' }),
  password: Type.String({ minLength: 8, maxLength: 200, writeOnly: true }),
  createdAt: Type.String({ format: 'date-time', readOnly: true }),
  updatedAt: Type.String({ format: 'date-time', readOnly: true })
})

export type Account = Static<typeof User>

const table = { name: 'users', schema: User, unique: ['email'] } as const

export async function accounts (database: DatabaseSync) {
  const storage = sqlite(database)
  await storage.createTable(table)
  return define({
    ...table,
    storage,
    formats: [json, xml],
    search: ['name', 'email'],
    authentication: { caller: async request => (await request.jwtVerify<{ sub: string }>()).sub, challenge: 'Bearer realm="users"' },
    // Anybody may sign up; everything else is for those who are logged in.
    access: { create: 'public', every: 'authenticated' },
    // Members see and change their own account alone. To them there is no other.
    scope: (request, action, caller) => {
      if (action === 'create' || request.user.role === 'admin') return undefined
      return { filter: { property: 'id', is: 'eq', value: caller ?? '' } }
    },
    prepare: async ({ item, before, request }) => {
      if (item.role !== (before?.role ?? 'member') && request.user?.role !== 'admin') {
        throw problem('forbidden', { detail: 'Only an admin can change a role.' })
      }
      const password = item.password === before?.password ? item.password : await hash(item.password)
      return { ...item, email: item.email.toLowerCase(), password }
    }
  })
}
