import type { FastifyCorsOptions } from '@fastify/cors'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from '@sinclair/typebox'
import Type1 from 'typebox'
import collection, { corsOptions, define, defineWith } from '../../lib/index.ts'
import type { Change, CommittedChange, Definition, Options } from '../../lib/index.ts'
import type { Registered } from '../../lib/app/registry.ts'
import type { Adapter, Storage } from '../../lib/storage/index.ts'
import type { ItemOf, PropertyOf, StaticOf } from '../../lib/schema/static.ts'
import { bulk } from 'fastify-collections/bulk'
import type { AddedBulk } from 'fastify-collections/bulk'
import { idempotency } from 'fastify-collections/idempotency'
import { redirects } from 'fastify-collections/redirects'
import { softDelete } from 'fastify-collections/soft-delete'
import { timeout } from 'fastify-collections/timeout'
import { memory } from '../../lib/storage/memory.ts'
import type { SqlAdapter } from '../../lib/storage/sql.ts'
import { expect, test } from './expect.ts'

// The schema of one user, written with either generation of TypeBox, is one type everywhere.

interface User {
  id: string
  email: string
  age?: number
  role: 'admin' | 'guest'
  address: { city: string; lines: string[] }
  nick: string | null
  createdAt: string
}

const User034 = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  email: Type.String({ format: 'email' }),
  age: Type.Optional(Type.Integer()),
  role: Type.Union([Type.Literal('admin'), Type.Literal('guest')]),
  address: Type.Object({ city: Type.String(), lines: Type.Array(Type.String()) }),
  nick: Type.Union([Type.String(), Type.Null()]),
  createdAt: Type.String({ format: 'date-time', readOnly: true })
})

const User1 = Type1.Object({
  id: Type1.String({ format: 'uuid', readOnly: true }),
  email: Type1.String({ format: 'email' }),
  age: Type1.Optional(Type1.Integer()),
  role: Type1.Union([Type1.Literal('admin'), Type1.Literal('guest')]),
  address: Type1.Object({ city: Type1.String(), lines: Type1.Array(Type1.String()) }),
  nick: Type1.Union([Type1.String(), Type1.Null()]),
  createdAt: Type1.String({ format: 'date-time', readOnly: true })
})

type Name = 'id' | 'email' | 'age' | 'role' | 'address' | 'nick' | 'createdAt'

test('the type of an item is that of its schema, for @sinclair/typebox 0.34 and typebox 1', () => {
  expect<StaticOf<typeof User034>>().type.toBe<User>()
  expect<StaticOf<typeof User1>>().type.toBe<User>()
  expect<ItemOf<typeof User034>>().type.toBe<User>()
  expect<ItemOf<typeof User1>>().type.toBe<User>()
  expect<PropertyOf<ItemOf<typeof User034>>>().type.toBe<Name>()
  expect<PropertyOf<ItemOf<typeof User1>>>().type.toBe<Name>()
  expect<ItemOf<typeof User034>>().type.not.toBe<any>()
  expect<ItemOf<typeof User1>>().type.not.toBe<any>()
})

test('the item type reaches hooks, links and storage without a cast: @sinclair/typebox 0.34', () => {
  define({
    name: 'users',
    schema: User034,
    storage (shape) {
      expect(shape.name).type.toBe<string>()
      return memory()<User>(shape)
    },
    hooks: {
      beforeValidation (change) {
        expect(change).type.toBe<Change<User>>()
        expect(change.item).type.toBe<User>()
        expect(change.item).type.not.toBe<any>()
        expect(change.before).type.toBe<Readonly<User> | undefined>()
        expect(change.action).type.toBe<'create' | 'replace' | 'update'>()
        expect(change.request).type.toBe<FastifyRequest | undefined>()
        expect(change.item.age).type.toBe<number | undefined>()
        expect(change.item.address.lines).type.toBe<string[]>()
        expect(change.item).type.not.toHaveProperty('password')
        return { ...change.item, email: change.item.email.toLowerCase() }
      },
      afterCommit (change) {
        expect(change).type.toBe<CommittedChange<User>>()
        expect(change.before).type.toBe<Readonly<User> | undefined>()
        expect(change.after).type.toBe<Readonly<User> | undefined>()
        expect(change.action).type.toBe<'create' | 'replace' | 'update' | 'remove'>()
      }
    },
    links ({ item }) {
      expect(item).type.toBe<Readonly<User>>()
      return { home: { href: `/homes/${item.address.city}` } }
    }
  })
})

test('the item type reaches hooks, links and storage without a cast: typebox 1', () => {
  define({
    name: 'users',
    schema: User1,
    storage: (shape) => memory()<User>(shape),
    hooks: {
      beforeValidation (change) {
        expect(change).type.toBe<Change<User>>()
        expect(change.item).type.not.toBe<any>()
        expect(change.item.role).type.toBe<'admin' | 'guest'>()
        return { ...change.item, email: change.item.email.toLowerCase() }
      },
      afterCommit (change) {
        expect(change).type.toBe<CommittedChange<User>>()
      }
    },
    links ({ item }) {
      expect(item).type.toBe<Readonly<User>>()
      return { home: { href: `/homes/${item.address.city}` } }
    }
  })
})

test('define returns a collection of its items', () => {
  const of034 = define({ name: 'users', schema: User034, storage: memory() })
  const of1 = define({ name: 'users', schema: User1, storage: memory() })
  expect(of034).type.toBe<Definition<User>>()
  expect(of1).type.toBe<Definition<User>>()
  expect(of034.storage).type.toBe<Storage<User>>()
  expect(of034.storage).type.not.toBe<any>()
})

test('a definition cannot be changed', () => {
  const users = define({ name: 'users', schema: User034, storage: memory() })
  type Data = Pick<
    Definition<User>,
    {
      [Name in Extract<keyof Definition, string>]: Definition[Name] extends (...parameters: never) => unknown
        ? never
        : Name
    }[Extract<keyof Definition, string>]
  >
  expect<Data>().type.toBe<Readonly<Data>>()
  expect(users.actions).type.not.toHaveProperty('add')
  expect(users.features).type.not.toHaveProperty('push')
})

test('a table is created only from a definition or its options', () => {
  const storage = {} as SqlAdapter
  const { createTable } = storage
  const of034 = { name: 'users', schema: User034, storage }
  expect(createTable).type.toBeCallableWith(define({ ...of034, unique: ['email', ['email', 'role']] }))
  expect(createTable).type.toBeCallableWith(
    define({ name: 'users', schema: User1, storage, unique: ['email'] }).with(idempotency())
  )
  expect(createTable).type.toBeCallableWith({
    name: 'users',
    schema: User034,
    unique: ['email', ['email', 'role']] as const
  })
  expect(createTable).type.toBeCallableWith({ name: 'users', schema: User034, id: { generate: () => 1 } })
  // @ts-expect-error 'uniqe' does not exist in type
  createTable({ name: 'users', schema: User034, uniqe: ['email'] })
  // @ts-expect-error Type 'string' is not assignable
  createTable({ name: 'users', schema: User034, unique: 'email' })
  // @ts-expect-error Property 'name' is missing in type
  createTable({ schema: User034 })
  // @ts-expect-error is missing the following properties
  createTable(User034)
  // @ts-expect-error Expected 1 arguments, but got 0
  createTable()
  expect(define({ name: 'users', schema: User034, storage }).unique).type.toBe<ReadonlyArray<readonly string[]>>()
})

test('names that are not properties are compile errors', () => {
  const of034 = { name: 'users', schema: User034, storage: memory() }
  const of1 = { name: 'users', schema: User1, storage: memory() }
  expect(define).type.toBeCallableWith({ ...of034, unique: ['email', ['email', 'role']] })
  expect(define).type.toBeCallableWith({ ...of1, unique: ['email', ['email', 'role']] })
  // @ts-expect-error Type '"mail"' is not assignable
  define({ ...of034, unique: ['mail'] })
  // @ts-expect-error Type '"mail"' is not assignable
  define({ ...of1, unique: ['mail'] })
  // @ts-expect-error Type '["email", "mail"]' is not assignable
  define({ ...of034, unique: [['email', 'mail']] })
  // @ts-expect-error Type '["email", "mail"]' is not assignable
  define({ ...of1, unique: [['email', 'mail']] })

  expect(define).type.toBeCallableWith({ ...of034, list: { order: ['email', '-age'] } })
  expect(define).type.toBeCallableWith({ ...of1, list: { order: ['email', '-age'] } })
  // @ts-expect-error Type '"mail"' is not assignable
  define({ ...of034, list: { order: ['mail'] } })
  // @ts-expect-error Type '"-mail"' is not assignable
  define({ ...of034, list: { order: ['-mail'] } })
  // @ts-expect-error Type '"+age"' is not assignable
  define({ ...of034, list: { order: ['+age'] } })
  // @ts-expect-error Type '"-mail"' is not assignable
  define({ ...of1, list: { order: ['-mail'] } })

  expect(define).type.toBeCallableWith({
    ...of034,
    list: { filter: ['email', 'address.city'], sort: ['age'], search: ['email', 'address.city'] }
  })
  // @ts-expect-error Type '"mail"' is not assignable
  define({ ...of034, list: { filter: ['mail'] } })
  // @ts-expect-error Type '"home.city"' is not assignable
  define({ ...of034, list: { filter: ['home.city'] } })
  // @ts-expect-error Type '"-age"' is not assignable
  define({ ...of034, list: { sort: ['-age'] } })
  // @ts-expect-error Type '"mail"' is not assignable
  define({ ...of034, list: { search: ['mail'] } })
  // @ts-expect-error 'search' does not exist in type
  define({ ...of034, search: 'email' })
  expect(define).type.toBeCallableWith({
    ...of1,
    list: { filter: ['email', 'address.city'], sort: ['age'], search: ['email', 'address.city'] }
  })
  // @ts-expect-error Type '"mail"' is not assignable
  define({ ...of1, list: { filter: ['mail'] } })
  // @ts-expect-error Type '"home.city"' is not assignable
  define({ ...of1, list: { filter: ['home.city'] } })
  // @ts-expect-error Type '"-age"' is not assignable
  define({ ...of1, list: { sort: ['-age'] } })
  // @ts-expect-error Type '"mail"' is not assignable
  define({ ...of1, list: { search: ['mail'] } })
  // @ts-expect-error 'search' does not exist in type
  define({ ...of1, search: 'email' })

  expect(define).type.toBeCallableWith({ ...of034, timestamps: { created: 'createdAt' } })
  expect(define).type.toBeCallableWith({ ...of034, timestamps: false })
  // @ts-expect-error Type '"since"' is not assignable
  define({ ...of034, timestamps: { created: 'since' } })
  // @ts-expect-error 'create' does not exist in type
  define({ ...of034, timestamps: { create: 'createdAt' } })
  // @ts-expect-error Type 'true' is not assignable
  define({ ...of034, timestamps: true })
  // @ts-expect-error Type '"since"' is not assignable
  define({ ...of1, timestamps: { updated: 'since' } })

  expect(define).type.toBeCallableWith({ ...of034, id: { property: 'email', generate: 'client' } })
  expect(define).type.toBeCallableWith({ ...of034, id: { generate: () => 'x' } })
  // @ts-expect-error Type '"slug"' is not assignable
  define({ ...of034, id: { property: 'slug', generate: 'client' } })
  // @ts-expect-error Type '"slug"' is not assignable
  define({ ...of1, id: { property: 'slug', generate: 'client' } })
  // @ts-expect-error Type '"server"' is not assignable
  define({ ...of034, id: { generate: 'server' } })
  // @ts-expect-error Type '() => boolean' is not assignable
  define({ ...of034, id: { generate: () => true } })
})

test('unknown options and options with another value are compile errors', () => {
  const users = { name: 'users', schema: User034, storage: memory() }
  expect(define).type.toBeCallableWith(users)
  // @ts-expect-error 'uniques' does not exist in type
  define({ ...users, uniques: ['email'] })
  // @ts-expect-error Type '"delete"' is not assignable
  define({ ...users, actions: ['delete'] })
  // @ts-expect-error 'page' does not exist in type
  define({ ...users, page: { max: 5 } })
  // @ts-expect-error Type 'string' is not assignable
  define({ ...users, etag: { required: 'always' } })
  // @ts-expect-error 'delete' does not exist in type
  define({ ...users, routes: { delete: {} } })
  expect(define).type.toBeCallableWith({ ...users, routes: { read: { config: {}, preHandler: async () => {} } } })
  // @ts-expect-error 'schema' does not exist in type
  define({ ...users, routes: { read: { schema: {} } } })
  // @ts-expect-error Property 'storage' is missing in type
  define({ name: 'users', schema: User034 })
  // @ts-expect-error Property 'schema' is missing in type
  define({ name: 'users', storage: memory() })
  // @ts-expect-error Type 'TString' is not assignable
  define({ ...users, schema: Type.String() })
  // @ts-expect-error Type 'TString' is not assignable
  define({ ...users, schema: Type1.String() })
  // @ts-expect-error Type 'TArray<TString>' is not assignable
  define({ ...users, schema: Type.Array(Type.String()) })
})

test('beforeValidation returns an item, or nothing', () => {
  const users = { name: 'users', schema: User034, storage: memory() }
  expect(define).type.toBeCallableWith({
    ...users,
    hooks: { beforeValidation: async ({ item }: Change<User>) => item }
  })
  // @ts-expect-error Type '() => { id: string; }' is not assignable
  define({ ...users, hooks: { beforeValidation: () => ({ id: 'x' }) } })
  expect(define).type.toBeCallableWith({ ...users, hooks: { beforeValidation: () => {} } })
  define({
    ...users,
    // @ts-expect-error is not assignable
    hooks: { beforeValidation: ({ item }: Change<User>) => ({ ...item, age: 'old' }) }
  })
  define({
    ...users,
    // @ts-expect-error Type '({ item }: Change<{ other: string; }>) => { other: string; }' is not assignable
    hooks: { beforeValidation: ({ item }: Change<{ other: string }>) => item }
  })
})

test('a storage for the items is accepted, and one for other items is rejected', () => {
  interface Animal {
    id: string
    legs: number
  }
  const keep = <Item>() => ({}) as Adapter<Item>
  expect<Options<typeof User034>['storage']>().type.toBe<Adapter<User>>()
  expect<Options<typeof User1>['storage']>().type.toBe<Adapter<User>>()
  expect(define).type.toBeCallableWith({ name: 'users', schema: User034, storage: keep<User>() })
  expect(define).type.toBeCallableWith({ name: 'users', schema: User1, storage: keep<User>() })
  // @ts-expect-error Type 'Adapter<Animal>' is not assignable
  define({ name: 'users', schema: User034, storage: keep<Animal>() })
  // @ts-expect-error Type 'Adapter<Animal>' is not assignable
  define({ name: 'users', schema: User1, storage: keep<Animal>() })
  define({
    name: 'users',
    schema: User034,
    // @ts-expect-error Type 'Adapter<{ id: string; legs: number; }>' is not assignable
    storage: memory({ items: [{ id: 'x', legs: 4 }] })
  })
  expect<Storage<User>>().type.not.toBeAssignableTo<Storage<Animal>>()
  expect<Storage<Animal>>().type.not.toBeAssignableTo<Storage<User>>()
})

test('a seed of the memory storage contains items', () => {
  const ada = {
    id: 'x',
    email: 'a',
    role: 'guest' as const,
    address: { city: 'x', lines: [] },
    nick: null,
    createdAt: ''
  }
  expect(define).type.toBeCallableWith({ name: 'users', schema: User034, storage: memory<User>({ items: [ada] }) })
  // @ts-expect-error Type '"owner"' is not assignable
  memory<User>({ items: [{ ...ada, role: 'owner' }] })
})

test('a collection is registered as it is, or with the options of register', () => {
  const app = {} as FastifyInstance
  const users = define({ name: 'users', schema: User034, storage: memory() })
  const animals = define({
    name: 'animals',
    schema: Type1.Object({ id: Type1.Integer() }),
    id: { generate: 'storage' },
    storage: memory()
  })
  app.register(collection, users)
  app.register(collection, animals)
  app.register(collection, { ...users, prefix: '/v1' })
  app.register(collection, { ...animals, prefix: '/v1', logLevel: 'warn' })
  expect(users).type.toBeAssignableTo<Definition>()
  expect(animals).type.toBeAssignableTo<Definition>()
  expect<{ name: string; schema: typeof User034 }>().type.not.toBeAssignableTo<Definition>()
  expect(app.collections).type.toBe<readonly Registered[]>()
})

test('a schema without a static type has items of unknown properties', () => {
  const plain = define({
    name: 'plain',
    schema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
    storage: memory()
  })
  expect(plain).type.not.toBe<Definition<any>>()
  expect(plain).type.not.toBe<Definition<never>>()
  expect(plain).type.toBe<Definition<Record<string, unknown>>>()
})

test('idempotency accepts actions that can be repeated, and milliseconds', () => {
  expect(idempotency).type.toBeCallableWith()
  expect(idempotency).type.toBeCallableWith({ actions: ['create', 'update'], required: true, expiry: 3_600_000, lease: 5000 })
  // @ts-expect-error Type '"remove"' is not assignable
  idempotency({ actions: ['remove'] })
  // @ts-expect-error Type 'string' is not assignable
  idempotency({ expiry: '1h' })
  // @ts-expect-error has no properties in common
  idempotency(true)
})

test('corsOptions matches the options of @fastify/cors', () => {
  expect(corsOptions()).type.toBeAssignableTo<FastifyCorsOptions>()
})

test('redirects return an id, or another URI', () => {
  expect(redirects).type.toBeCallableWith({ to: ({ id }: { id: string }) => id })
  expect(redirects).type.toBeCallableWith({
    to: async ({ id }: { id: string }) => (id === '' ? undefined : new URL('https://example.com'))
  })
  expect(redirects).type.toBeCallableWith({ to: () => 5, status: 308 })
  // @ts-expect-error Type '302' is not assignable
  redirects({ to: () => 5, status: 302 })
  // @ts-expect-error Type 'boolean' is not assignable
  redirects({ to: () => false })
  redirects({
    to: ({ id, request }) => {
      expect(id).type.toBe<string>()
      expect(request).type.toBe<FastifyRequest | undefined>()
      return undefined
    }
  })
})

test('a timeout is in milliseconds, for all actions or for some', () => {
  expect(timeout).type.toBeCallableWith(5000)
  expect(timeout).type.toBeCallableWith({ all: 5000, list: 1000 })
  // @ts-expect-error 'delete' does not exist in type
  timeout({ delete: 1000 })
  // @ts-expect-error Argument of type 'string' is not assignable
  timeout('5s')
})

test('softDelete accepts a property of the item and a function of the request', () => {
  const users = define({ name: 'users', schema: User034, storage: memory() })
  users.with(
    softDelete({
      property: 'createdAt',
      allow: async ({ request }) => {
        expect(request).type.toBe<FastifyRequest | undefined>()
        return true
      }
    })
  )
  expect(users.with(softDelete({ property: 'createdAt' }), timeout(1), idempotency())).type.toBe<typeof users>()
  // @ts-expect-error Argument of type 'string' is not assignable
  users.with(softDelete<User>({ property: 'createdAt', allow: () => true }), 'bulk')
  // @ts-expect-error Type '"createAt"' is not assignable
  users.with(softDelete({ property: 'createAt' }))
  // @ts-expect-error Type '() => "yes"' is not assignable
  users.with(softDelete({ property: 'createdAt', allow: () => 'yes' }))
  users.with(softDelete({ property: 'createdAt', allow: 'authenticated' }))
})

test('defineWith shares options and features', () => {
  const defineOne = defineWith({ storage: memory(), list: { limit: { default: 5 } } }, bulk(), idempotency())
  expect(defineOne({ name: 'users', schema: User034 })).type.toBe<Definition<User, AddedBulk<'createMany'>>>()
  expect(defineOne({ name: 'users', schema: User034, storage: memory(), unique: ['email'] })).type.toBe<
    Definition<User, AddedBulk<'createMany'>>
  >()
  // @ts-expect-error is not assignable
  defineOne({ name: 'users', schema: User034, unique: ['mail'] })
  const withoutStorage = defineWith({ list: { limit: { default: 5 } } })
  expect(withoutStorage({ name: 'users', schema: User034, storage: memory() })).type.toBe<Definition<User>>()
})
