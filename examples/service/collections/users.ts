import { randomBytes, randomUUID, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { Type } from '@sinclair/typebox'
import { define } from 'fastify-collections'
import type { Database } from '../database.ts'
import { formats } from '../formats.ts'

export const ada = '01900000-0000-7000-8000-000000000001'
export const grace = '01900000-0000-7000-8000-000000000002'

// With these examples, the reference can be tried: the first are those of an existing user, the last of a new one.
const User = Type.Object(
  {
    id: Type.String({ format: 'uuid', readOnly: true, examples: [ada, grace] }),
    email: Type.String({ format: 'email', maxLength: 200, examples: ['ada@example.com', 'alan@example.com'] }),
    name: Type.String({ minLength: 1, maxLength: 200, examples: ['Ada', 'Alan'] }),
    role: Type.Union([Type.Literal('admin'), Type.Literal('member')], { default: 'member' }),
    password: Type.String({ minLength: 8, maxLength: 200, writeOnly: true }),
    createdAt: Type.String({ format: 'date-time', readOnly: true }),
    updatedAt: Type.String({ format: 'date-time', readOnly: true })
  },
  { title: 'User' }
)

// An example to try on this machine: everyone may read and write, and the role has no meaning. The starter
// examples/users has accounts with access rules.
const table = { name: 'users', schema: User, unique: ['email'] } as const

export async function users ({ storage }: Database) {
  await storage.createTable(table)
  return define({
    ...table,
    storage,
    formats,
    list: { search: ['name', 'email'] },
    hooks: {
      beforeValidation: async ({ item, before }) =>
        item.password === before?.password ? item : { ...item, password: await hash(item.password) }
    }
  })
}

async function hash (password: string): Promise<string> {
  const salt = randomBytes(16)
  const key = await promisify<string, Buffer, number, Buffer>(scrypt)(password, salt, 32)
  return `scrypt:${salt.toString('base64url')}:${key.toString('base64url')}`
}

/** Nobody knows their passwords. */
export const firstUsers = [
  {
    id: ada,
    email: 'ada@example.com',
    name: 'Ada',
    role: 'admin',
    password: randomUUID()
  },
  {
    id: grace,
    email: 'grace@example.com',
    name: 'Grace',
    role: 'member',
    password: randomUUID()
  }
] as const
