import { Type } from '@sinclair/typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import { define } from '../define.ts'
import type { Definition, Options } from '../../lib/index.ts'
import type { Supports } from '../../lib/storage/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { request } from '../app.ts'

// Goods: properties of every kind that a list can filter and sort by, and others.

export const Good = Type.Object({
  id: Type.Integer({ minimum: 1 }),
  name: Type.String({ minLength: 1, description: 'What it is called' }),
  price: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
  stock: Type.Optional(Type.Integer({ minimum: 0 })),
  sold: Type.Optional(Type.Boolean()),
  status: Type.Optional(Type.Union([Type.Literal('draft'), Type.Literal('published')])),
  since: Type.Optional(Type.String({ format: 'date' })),
  limit: Type.Optional(Type.Integer()),
  all: Type.Optional(Type.Boolean()),
  e: Type.Optional(Type.Integer()),
  place: Type.Optional(
    Type.Object({
      city: Type.String(),
      floor: Type.Optional(Type.Integer()),
      in: Type.Optional(Type.String()),
      code: Type.Optional(Type.String({ writeOnly: true }))
    })
  ),
  owner: Type.Optional(
    Type.Union([Type.Object({ name: Type.String(), pin: Type.String({ writeOnly: true }) }), Type.Null()])
  ),
  secret: Type.Optional(Type.String({ writeOnly: true })),
  hidden: Type.Optional(Type.Union([Type.String({ writeOnly: true }), Type.Null()])),
  vault: Type.Optional(Type.Object({ key: Type.String() }, { writeOnly: true })),
  tags: Type.Optional(Type.Array(Type.String())),
  mixed: Type.Optional(Type.Union([Type.String(), Type.Integer()])),
  shapes: Type.Optional(Type.Union([Type.Object({ a: Type.String() }), Type.Object({ b: Type.String() })])),
  nothing: Type.Optional(Type.Null()),
  'dotted.name': Type.Optional(Type.String())
})

export type Item = Static<typeof Good>

export const items: readonly Item[] = [
  {
    id: 1,
    name: 'apple',
    price: 2.5,
    stock: 10,
    sold: true,
    status: 'draft',
    since: '2024-02-29',
    limit: 1,
    all: true,
    e: 1,
    place: { city: 'Rome', floor: 1, in: 'x', code: 'c1' },
    owner: { name: 'Ada', pin: '1' },
    secret: 's1',
    hidden: 'h1',
    vault: { key: 'k1' },
    'dotted.name': 'd'
  },
  {
    id: 2,
    name: 'Äpfel, rot',
    price: null,
    stock: 0,
    sold: false,
    status: 'published',
    limit: 2,
    place: { city: 'Bonn' },
    owner: null,
    secret: 's2'
  },
  { id: 3, name: 'a\\b*c', price: -1, since: '2023-01-01', e: 3 },
  { id: 4, name: 'apple pie', price: 2.5, stock: 3, status: 'draft', all: false, owner: { name: 'Grace', pin: '2' } },
  { id: 5, name: '😀', stock: 3, sold: true }
]

/** A storage without support for these. */
export function without (...names: ReadonlyArray<keyof Supports>) {
  return <Item extends object>(shape: Parameters<ReturnType<typeof memory>>[0]) => {
    const storage = memory()<Item>(shape)
    return { ...storage, supports: { ...storage.supports, ...Object.fromEntries(names.map((name) => [name, false])) } }
  }
}

export function goods (options: Partial<Options<typeof Good>> = {}): Definition {
  return define({
    name: 'goods',
    schema: Good,
    storage: memory({ items }),
    id: { generate: 'storage' },
    ...options,
    list: { search: ['name', 'place.city'], ...options.list }
  })
}

export function links (answer: LightMyRequestResponse): Record<string, string> {
  return Object.fromEntries(
    [...String(answer.headers.link ?? '').matchAll(/<([^>]*)>; rel="(\w+)"/g)].map(([, href, rel]) => [rel, href])
  )
}

export function getIds (answer: LightMyRequestResponse): number[] {
  if (answer.statusCode !== 200) throw new Error(answer.payload)
  return answer.json().map(({ id }: { id: number }) => id)
}

/** Returns the ids of a list in one string. */
export async function get (app: FastifyInstance, query: string): Promise<string> {
  return getIds(await request(app, `GET /goods?${query}`)).join('')
}
