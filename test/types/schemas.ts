import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import type { FastifyInstance } from 'fastify'
import * as v from 'valibot'
import { z } from 'zod'
import { client } from '../../lib/client/client.ts'
import { action } from '../../lib/features/action.ts'
import { define, defineWith } from '../../lib/index.ts'
import type { Change, Definition, Entry } from '../../lib/index.ts'
import type { StandardSchema } from '../../lib/schema/standard-schema.ts'
import type { InputOf, ItemOf } from '../../lib/schema/static.ts'
import { memory } from '../../lib/storage/memory.ts'
import { arktype, valibot, zod } from '../schema/starters.ts'
import type { typebox } from '../schema/starters.ts'
import { expect, test } from './expect.ts'

// Schemas of zod, valibot and arktype give the same types as those of TypeBox, without a cast.

declare const app: FastifyInstance

interface User {
  id: string
  email: string
  name: string
  role: 'admin' | 'member'
  password: string
  createdAt: string
  updatedAt: string
}

interface Article {
  id: string
  authorId: string
  slug: string
  title: string
  text: string
  status: 'draft' | 'published'
  publishedAt: string | null
  createdAt: string
  updatedAt: string
}

test('the type of an item is what the library makes of it', () => {
  expect<ItemOf<typeof zod.User>>().type.toBe<User>()
  expect<ItemOf<typeof valibot.User>>().type.toBe<User>()
  expect<ItemOf<typeof arktype.User>>().type.toBe<User>()
  expect<ItemOf<typeof typebox.User>>().type.toBe<User>()

  expect<ItemOf<typeof zod.Article>>().type.toBe<Article>()
  expect<ItemOf<typeof valibot.Article>>().type.toBe<Article>()
  expect<ItemOf<typeof arktype.Article>>().type.toBe<Article>()
  expect<ItemOf<typeof typebox.Article>>().type.toBe<Article>()
  expect<ItemOf<typeof zod.Article>>().type.not.toBe<any>()
})

test('an optional property is one', () => {
  interface Author {
    id: string
    name: string
    about?: string
  }
  expect<ItemOf<typeof valibot.Author>>().type.toBe<Author>()
  expect<ItemOf<typeof arktype.Author>>().type.toBe<Author>()
  // `optional()` of zod also accepts undefined, `exactOptional()` does not.
  expect<ItemOf<typeof zod.Author>>().type.toBe<{ id: string; name: string; about?: string | undefined }>()
  const Exact = z.object({ id: z.string(), name: z.string(), about: z.string().exactOptional() })
  expect(define({ name: 'authors', schema: Exact, storage: memory() })).type.toBe<Definition<Author>>()
})

test('what a caller sends can leave out defaults, if the library knows them', () => {
  interface Purchase {
    quantity?: number
  }
  expect<InputOf<typeof arktype.Purchase>>().type.toBe<Purchase>()
  expect<InputOf<typeof typebox.Purchase>>().type.toBe<Purchase>()
  expect<InputOf<typeof zod.Purchase>>().type.toBe<{ quantity?: number | undefined }>()
  expect<InputOf<typeof valibot.Purchase>>().type.toBe<{ quantity?: number | undefined }>()
  expect<ItemOf<typeof zod.Purchase>>().type.toBe<{ quantity: number }>()
})

test('a definition, its hooks, rules and links know the item: zod', () => {
  const users = define({
    name: 'users',
    schema: zod.User,
    storage: memory(),
    unique: ['email'],
    list: { order: ['-createdAt'], search: ['name'] },
    access: { visible: { email: () => true } },
    hooks: {
      beforeValidation (change) {
        expect(change).type.toBe<Change<User>>()
        return { ...change.item, email: change.item.email.toLowerCase() }
      }
    },
    links ({ item }) {
      expect(item).type.toBe<Readonly<User>>()
      return { home: { href: `/${item.role}` } }
    }
  })
  expect(users).type.toBe<Definition<User>>()
  // @ts-expect-error Type '"mail"' is not assignable
  define({ name: 'x', schema: zod.User, storage: memory(), unique: ['mail'] })
})

test('a definition knows the item: valibot and arktype', () => {
  expect(define({ name: 'users', schema: valibot.User, storage: memory() })).type.toBe<Definition<User>>()
  expect(define({ name: 'users', schema: arktype.User, storage: memory() })).type.toBe<Definition<User>>()
  // @ts-expect-error Type '"mail"' is not assignable
  define({ name: 'x', schema: valibot.User, storage: memory(), unique: ['mail'] })
  // @ts-expect-error Type '"mail"' is not assignable
  define({ name: 'x', schema: arktype.User, storage: memory(), unique: ['mail'] })
  const defineHere = defineWith({ storage: memory() })
  expect(defineHere({ name: 'users', schema: valibot.User })).type.toBe<Definition<User>>()
})

test('calls and clients know items, input and output', () => {
  const products = define({
    name: 'products',
    schema: zod.Product,
    id: { property: 'sku', generate: 'client' },
    storage: memory()
  }).with(action('purchase', {
    input: zod.Purchase,
    output: arktype.Receipt,
    run ({ item, input }) {
      expect(item.price).type.toBe<string>()
      expect(input).type.toBe<{ quantity: number }>()
      return { item, output: { sku: item.sku, quantity: input.quantity, total: item.price, left: item.stock } }
    }
  }))
  type Product = ItemOf<typeof zod.Product>
  type Receipt = { sku: string; quantity: number; total: string; left: number }
  expect<Product>().type.toBe<{ sku: string; name: string; price: string; stock: number; updatedAt: string }>()

  const calls = app.collection(products)
  expect(calls.read('a')).type.toBe<Promise<Entry<Product>>>()
  expect(calls.purchase('a')).type.toBe<Promise<Receipt>>()
  expect(calls.purchase).type.toBeCallableWith('a', { quantity: 2 })
  // @ts-expect-error Type 'string' is not assignable
  calls.purchase('a', { quantity: 'two' })

  const remote = client<typeof products, { readOnly: 'updatedAt'; default: 'stock' }>('/products', { id: 'sku' })
  expect(remote.create).type.toBeCallableWith({ sku: 'a', name: 'A', price: '1.00' })
  // @ts-expect-error Type 'number' is not assignable
  remote.create({ sku: 'a', name: 'A', price: 1 })
  expect(remote.purchase('a', { quantity: 1 })).type.toBe<Promise<Receipt>>()
  expect(remote.list).type.toBeCallableWith({ filter: { 'stock.gte': 1 }, sort: ['-stock'] })
})

test('the interfaces of @standard-schema/spec can be assigned, and a schema without JSON Schema cannot', () => {
  interface Input { a?: string }
  interface Output { a: string }
  type Official = StandardSchemaV1<Input, Output> & StandardJSONSchemaV1<Input, Output>
  expect<StandardSchema>().type.toBeAssignableFrom<Official>()
  expect<StandardSchema>().type.toBeAssignableFrom<StandardJSONSchemaV1>()
  expect<StandardSchema>().type.not.toBeAssignableFrom<StandardSchemaV1>()
  expect<ItemOf<Official>>().type.toBe<{ a: string }>()
  expect<InputOf<Official>>().type.toBe<{ a?: string }>()
  expect<ItemOf<StandardJSONSchemaV1>>().type.toBe<Record<string, unknown>>()

  const User = v.object({ id: v.string() })
  // @ts-expect-error is not assignable
  define({ name: 'users', schema: User, storage: memory() })
  expect(define).type.toBeCallableWith({ name: 'users', schema: toStandardJsonSchema(User), storage: memory() })
  // @ts-expect-error Type 'Date' is not assignable
  define({ name: 'users', schema: new Date(), storage: memory() })
})
