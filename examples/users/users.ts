import { Type } from '@sinclair/typebox'
import { define } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'

const User = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  email: Type.String({ format: 'email' }),
  name: Type.String({ minLength: 1 }),
  role: Type.Union([Type.Literal('admin'), Type.Literal('member')], { default: 'member' }),
  password: Type.String({ minLength: 8, writeOnly: true }),
  createdAt: Type.String({ format: 'date-time', readOnly: true }),
  updatedAt: Type.String({ format: 'date-time', readOnly: true })
})

const items = [
  {
    id: '01900000-0000-7000-8000-000000000001',
    email: 'ada@example.com',
    name: 'Ada',
    role: 'admin' as const,
    password: 'analytical',
    createdAt: '2026-01-01T09:00:00.000Z',
    updatedAt: '2026-01-01T09:00:00.000Z'
  },
  {
    id: '01900000-0000-7000-8000-000000000002',
    email: 'grace@example.com',
    name: 'Grace',
    role: 'member' as const,
    password: 'nanoseconds',
    createdAt: '2026-01-02T09:00:00.000Z',
    updatedAt: '2026-01-02T09:00:00.000Z'
  }
]

export const users = define({ name: 'users', schema: User, unique: ['email'], search: ['name', 'email'], storage: memory({ items }) })
