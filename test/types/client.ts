import { Type } from '@sinclair/typebox'
import { client } from '../../lib/client/client.ts'
import type { PageOfEntries } from '../../lib/client/client.ts'
import { define } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { expect, test } from './expect.ts'

export const definition = define({
  name: 'users',
  schema: Type.Object({
    id: Type.String({ readOnly: true }),
    name: Type.String(),
    role: Type.String({ default: 'reader' }),
    age: Type.Optional(Type.Integer()),
    tags: Type.Array(Type.Object({ label: Type.String() })),
    password: Type.Optional(Type.String({ writeOnly: true }))
  }),
  storage: memory()
})

const users = client<typeof definition, { readOnly: 'id'; writeOnly: 'password'; default: 'role' }>('/users')

test('items that are read have no writeOnly properties', async () => {
  const { id, tag, item: user } = await users.read('1')
  expect(id).type.toBe<string | number>()
  expect(tag).type.toBe<string | undefined>()
  expect(user.name).type.toBe<string>()
  expect(user).type.not.toHaveProperty('password')
  for await (const { item } of users.list()) expect(item.age).type.toBe<number | undefined>()
})

test('create requires neither readOnly properties nor properties with a default', () => {
  expect(users.create).type.toBeCallableWith({ name: 'Ada', tags: [] })
  expect(users.create).type.toBeCallableWith({ id: '1', name: 'Ada', tags: [], role: 'author', password: 'secret' })
  // @ts-expect-error Argument of type '{ name: string; }' is not assignable
  users.create({ name: 'Ada' })
  // @ts-expect-error Type 'number' is not assignable
  users.create({ name: 1, tags: [] })
})

test('null in a patch removes only optional properties, and an array is replaced as a whole', () => {
  expect(users.update).type.toBeCallableWith('1', { age: null })
  // @ts-expect-error Type 'null' is not assignable
  users.update('1', { name: null })
  expect(users.update).type.toBeCallableWith('1', { tags: [{ label: 'a' }] })
  // @ts-expect-error Property 'label' is missing in type
  users.update('1', { tags: [{}] })
  // @ts-expect-error 'nothing' does not exist in type
  users.update('1', { nothing: 1 })
})

test('a query accepts keys for the properties', () => {
  expect(users.list).type.toBeCallableWith({
    filter: { name: 'Ada', 'age.gte': 18, 'role.in': ['a', 'b'], any: [{ 'age.lt': new Date() }], not: { role: 'c' } },
    sort: ['-name'],
    limit: 5,
    cursor: undefined,
    fields: ['id']
  })
  // @ts-expect-error 'nothing' does not exist in type
  users.list({ filter: { nothing: 1 } })
  // @ts-expect-error 'name' does not exist in type
  users.list({ name: 'Ada' })
  // @ts-expect-error Type '"nothing"' is not assignable
  users.list({ fields: ['nothing'] })
  // @ts-expect-error Type '"nothing"' is not assignable
  users.list({ sort: ['nothing'] })
})

test('a page has a cursor, and pages can be continued', async () => {
  const { value: page } = await users.pages({ limit: 5 }).next()
  expect(page).type.toBe<PageOfEntries<Readonly<Omit<
    { id: string, name: string, role: string, age?: number, tags: Array<{ label: string }>, password?: string },
    'password'
  >>> | undefined>()
  expect(users.pages).type.toBeCallableWith({ limit: 5, cursor: page?.next ?? undefined })
})

test('a write takes an entry or an id, with the tag of an entry', async () => {
  const entry = await users.read('1')
  expect(users.update).type.toBeCallableWith(entry, { age: 1 })
  expect(users.update).type.toBeCallableWith({ ...entry }, { age: 1 }, { ifMatch: '*' })
  expect(users.update).type.toBeCallableWith(entry.id, { age: 1 }, { ifMatch: '"1"' })
  expect(users.remove).type.toBeCallableWith(entry)
  expect(users.replace).type.toBeCallableWith(entry, { ...entry.item, name: 'B' })
  // @ts-expect-error is not assignable to parameter of type
  users.update(entry.item, { age: 1 })
  // @ts-expect-error 'ifMatch' does not exist in type
  users.create({ name: 'Ada', tags: [] }, { ifMatch: '"1"' })
  // @ts-expect-error 'title' does not exist in type
  users.remove({ id: '1', tag: '"1"', item: { title: 'of another collection' } })
})

test('without annotations, only properties set by the library are optional on create', () => {
  const plain = client<typeof definition>('/users')
  expect(plain.create).type.toBeCallableWith({ name: 'Ada', tags: [], role: 'reader' })
  // @ts-expect-error Argument of type '{ name: string; tags: never[]; }' is not assignable
  plain.create({ name: 'Ada', tags: [] })
})
