import { Type } from '@sinclair/typebox'
import type { Static } from '@sinclair/typebox'
import { define, json } from 'fastify-collections'
import { action } from 'fastify-collections/action'
import { xml } from 'fastify-collections/xml'
import type { Database } from './database.ts'
import { hash } from './password.ts'

const Role = Type.Union([Type.Literal('admin'), Type.Literal('member')])

const User = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  email: Type.String({ format: 'email', maxLength: 200 }),
  name: Type.String({ minLength: 1, maxLength: 200 }),
  // Clients cannot write it. The app itself can, and the action `grant`.
  role: Type.Union(Role.anyOf, { default: 'member', readOnly: true }),
  password: Type.String({ minLength: 8, maxLength: 200, writeOnly: true }),
  createdAt: Type.String({ format: 'date-time', readOnly: true }),
  updatedAt: Type.String({ format: 'date-time', readOnly: true })
})

export type Account = Static<typeof User>

declare module 'fastify-collections' {
  interface CollectionTypes {
    caller: { id: string; role: Account['role'] }
  }
}

export function defineUsers (database: Database) {
  return define({
    name: 'users',
    schema: User,
    unique: ['email'],
    storage: database.storage(),
    formats: [json, xml],
    list: { search: ['name', 'email'] },
    access: {
      authenticate: async ({ request }) => {
        const { sub, role } = await request.jwtVerify<{ sub: string; role: Account['role'] }>()
        return { id: sub, role }
      },
      challenge: 'Bearer realm="users"',
      // Anyone may sign up. Everything else is for callers who have logged in.
      allow: { create: 'public', all: 'authenticated' },
      // Members see and change their own account only. Other accounts do not exist for them.
      scope: ({ action, caller }) => {
        if (action === 'create' || caller?.role === 'admin') return undefined
        return { filter: { id: caller?.id ?? '' } }
      }
    },
    hooks: {
      beforeValidation: async ({ item, before }) => {
        const password = item.password === before?.password ? item.password : await hash(item.password)
        return { ...item, email: item.email.toLowerCase(), password }
      }
    }
  }).with(
    action('grant', {
      description: 'Changes the role of a user.',
      input: Type.Object({ role: Role }),
      allow: ({ caller }) => caller?.role === 'admin',
      run: ({ item, input }) => ({ ...item, role: input.role })
    })
  )
}
