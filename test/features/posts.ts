import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import collection, { define } from '../../lib/index.ts'
import type { Definition, Storage } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import * as features from './all.ts'
import { modified } from '../app.ts'
import { listen } from '../wire.ts'

// Collections with the query syntaxes of published clients.

const Place = Type.Object({ city: Type.String(), zip: Type.Optional(Type.String({ maxLength: 5 })) })

export const properties = {
  title: Type.String({ minLength: 1, maxLength: 40 }),
  views: Type.Optional(Type.Integer({ minimum: 0 })),
  status: Type.Union([Type.Literal('draft'), Type.Literal('published')], { default: 'draft' }),
  subtitle: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  author: Type.Optional(Type.Integer()),
  place: Type.Optional(Place),
  secret: Type.Optional(Type.String({ writeOnly: true })),
  updatedAt: Type.String({ format: 'date-time', readOnly: true })
}

export const Post = Type.Object({ id: Type.Integer({ minimum: 1 }), ...properties })
const PageSchema = Type.Object({ id: Type.String({ format: 'uuid', readOnly: true }), ...properties })

export const count = 33
export const seed = Array.from({ length: count }, (_, index) => ({
  title: `Post ${String(index + 1).padStart(2, '0')}`,
  views: (index * 7) % 10,
  status: index % 3 === 0 ? ('published' as const) : ('draft' as const),
  author: index % 4,
  place: { city: index % 2 === 0 ? 'Paris' : 'Rome' },
  updatedAt: '2026-01-01T00:00:00.000Z',
  ...(index < 5 && { subtitle: null })
}))
export const uuid = (index: number): string => `01900000-0000-7000-8000-${String(index + 1).padStart(12, '0')}`

export const syntaxes = { 'react-admin': features.reactAdmin, 'json-server': features.jsonServer, refine: features.refine }

export type ProfileName = keyof typeof syntaxes

export const profileNames = Object.keys(syntaxes) as ProfileName[]
export const createSyntaxes = (names: readonly ProfileName[]) => names.map((name) => syntaxes[name]())

/** The same posts twice: with integer ids from the storage, and with UUIDs from the library. */
export function posts (
  profiles: readonly ProfileName[],
  storage?: (storage: Storage<object>) => Partial<Storage<object>>
): Definition {
  const items = seed.map((item, index) => ({ id: index + 1, ...item }))
  return define({
    name: 'posts',
    schema: Post,
    id: { generate: 'storage' },
    unique: ['title'],
    list: { search: ['title'] },
    storage: storage === undefined ? memory({ items }) : modified(storage)
  }).with(...createSyntaxes(profiles))
}

export function pages (profiles: readonly ProfileName[]): Definition {
  return define({
    name: 'pages',
    schema: PageSchema,
    unique: ['title'],
    list: { search: ['title'] },
    storage: memory({ items: seed.map((item, index) => ({ id: uuid(index), ...item })) })
  }).with(...createSyntaxes(profiles))
}

export const kinds = [
  { resource: 'posts', id: (index: number): string | number => index + 1, missing: 9999 },
  { resource: 'pages', id: uuid, missing: uuid(9999) }
]

export async function build (t: Test, profiles: readonly ProfileName[]): Promise<FastifyInstance> {
  const app = Fastify({ forceCloseConnections: true })
  t.after(() => app.close())
  await app.register(collection, posts(profiles))
  await app.register(collection, pages(profiles))
  return app
}

export async function serve (t: Test, profiles: readonly ProfileName[]): Promise<string> {
  return `http://127.0.0.1:${await listen(await build(t, profiles))}`
}

export interface Failed {
  status: number
  message: string
  body: Record<string, unknown> & { errors?: Record<string, string> }
}

export async function failure (promise: Promise<unknown>): Promise<Failed> {
  try {
    await promise
  } catch (error) {
    return error as Failed
  }
  throw new Error('it was expected to fail')
}
