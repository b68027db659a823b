import { randomUUID } from 'node:crypto'
import { Type, type Static } from '@sinclair/typebox'
import type { Shape } from '../lib/storage/contract.ts'

const sorts = ['id', '-id', 'email', '-email', 'name', '-name', 'createdAt', '-createdAt'] as const

/** New objects on every call: validators cache compiled schemas by identity. */
export function schemas () {
  const item = Type.Object({
    id: Type.String({ format: 'uuid', readOnly: true }),
    email: Type.String({ format: 'email' }),
    name: Type.String({ minLength: 1 }),
    password: Type.String({ writeOnly: true }),
    createdAt: Type.String({ format: 'date-time', readOnly: true })
  })
  const closed = { additionalProperties: false }
  return {
    item,
    read: Type.Omit(item, ['password']),
    write: Type.Omit(item, ['id', 'createdAt'], closed),
    patch: Type.Partial(Type.Omit(item, ['id', 'createdAt']), closed),
    rename: Type.Pick(item, ['name'], closed),
    none: Type.Object({}, closed),
    id: Type.Object({ id: Type.String({ format: 'uuid' }) }),
    query: Type.Object(
      {
        limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
        after: Type.Optional(Type.Array(Type.String())),
        count: Type.Optional(Type.Boolean()),
        sort: Type.Optional(Type.Union(sorts.map((sort) => Type.Literal(sort)))),
        email: Type.Optional(Type.String()),
        name: Type.Optional(Type.String()),
        'name.lt': Type.Optional(Type.String()),
        'name.gte': Type.Optional(Type.String()),
        'createdAt.lt': Type.Optional(Type.String()),
        'createdAt.gte': Type.Optional(Type.String())
      },
      closed
    )
  }
}

export type Schemas = ReturnType<typeof schemas>
export type User = Static<Schemas['item']>
export type Write = Static<Schemas['write']>
export type Patch = Static<Schemas['patch']>
export type Query = Static<Schemas['query']>

export function shape (name: string, schema: Schemas['item']): Shape {
  return { name, schema, id: { property: 'id', generate: 'uuid' }, unique: [['email']] }
}

let moment = 0
let serial = 0

/** UUIDv7 with a counter (RFC 9562, sections 5.7 and 6.2), so that the order of ids is the order of creation. */
export function generateId () {
  const now = Date.now()
  if (now > moment) {
    moment = now
    serial = 0
  } else if (++serial === 0x1000) {
    moment++
    serial = 0
  }
  const time = moment.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${serial.toString(16).padStart(3, '0')}${randomUUID().slice(18)}`
}

/** Older than all ids that are generated in a run, and the same in every process. */
export function seedId (number: number) {
  return `01800000-0000-7000-8000-${number.toString(16).padStart(12, '0')}`
}

/** Text that extends the JSON of an item to about this many bytes; without it, it has 180. */
export function padding (bytes: number) {
  return 'x'.repeat(Math.max(0, bytes - 180))
}

export function seed (number: number, padding = ''): User {
  return {
    id: seedId(number),
    email: `user${number}@example.com`,
    name: `User number ${number}${padding}`,
    password: 'correct horse battery staple',
    createdAt: '2026-01-01T00:00:00.000Z'
  }
}
