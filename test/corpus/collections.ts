import { Type } from '@sinclair/typebox'
import { define, json } from '../../lib/index.ts'
import { hal } from '../../lib/formats/hal.ts'
import { xml } from '../../lib/formats/xml.ts'
import type { Collection } from '../../lib/engine/collection.ts'
import type { Options } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'

// The collections of the corpus, with every kind of property that matters for HTTP.

export const User = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  email: Type.String({ format: 'email' }),
  name: Type.String({ minLength: 1, maxLength: 50 }),
  age: Type.Optional(Type.Integer({ minimum: 0 })),
  role: Type.String({ enum: ['admin', 'editor', 'reader'], default: 'reader' }),
  score: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
  active: Type.Boolean({ default: true }),
  country: Type.Optional(Type.String({ immutable: true })),
  password: Type.Optional(Type.String({ writeOnly: true, minLength: 4 })),
  address: Type.Optional(Type.Object({ city: Type.String(), zip: Type.Optional(Type.String()) })),
  tags: Type.Optional(Type.Array(Type.String(), { maxItems: 3 })),
  createdAt: Type.String({ format: 'date-time', readOnly: true }),
  updatedAt: Type.String({ format: 'date-time', readOnly: true })
})

/** Without properties that the server sets, so that a PUT can store exactly what was sent. */
export const Page = Type.Object({
  slug: Type.String({ pattern: '^[a-z0-9-]+$' }),
  title: Type.String(),
  views: Type.Optional(Type.Integer())
})

export const Note = Type.Object({
  id: Type.Integer(),
  text: Type.String(),
  owner: Type.Optional(Type.String()),
  secret: Type.Optional(Type.String()),
  userId: Type.Optional(Type.Integer()),
  deletedAt: Type.Optional(Type.String({ format: 'date-time' }))
})

export function users (options: Partial<Options<typeof User>> = {}): Collection {
  return define({
    name: 'users',
    schema: User,
    unique: ['email'],
    storage: memory(),
    formats: [json, hal, xml],
    ...options
  }) as Collection
}

export function pages (options: Partial<Options<typeof Page>> = {}): Collection {
  return define({
    name: 'pages',
    schema: Page,
    id: { property: 'slug', generate: 'client' },
    storage: memory(),
    formats: [json, hal, xml],
    ...options
  }) as Collection
}

export function notes (options: Partial<Options<typeof Note>> = {}): Collection {
  return define({
    name: 'notes',
    schema: Note,
    id: { generate: 'storage' },
    storage: memory(),
    formats: [json, hal, xml],
    ...options
  }) as Collection
}

export const ada = {
  email: 'ada@example.com',
  name: 'Ada',
  age: 36,
  password: 'analytical',
  address: { city: 'London' }
}
export const alan = { email: 'alan@example.com', name: 'Alan', role: 'editor', tags: ['a', 'b'] }
export const grace = { email: 'grace@example.com', name: 'Grace', age: 85, role: 'admin', active: false, score: null }

export const unknownUser = '/users/01900000-0000-7000-8000-000000000001'
