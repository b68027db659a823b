import { Type } from '@sinclair/typebox'
import { client } from '../../lib/client/client.ts'
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
  const user = await users.read('1')
  expect(user.name).type.toBe<string>()
  expect(user).type.not.toHaveProperty('password')
  for await (const each of users.list()) expect(each.age).type.toBe<number | undefined>()
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
    name: 'Ada',
    'age.gte': 18,
    'role.in': ['a', 'b'],
    sort: ['-name'],
    limit: 5
  })
  // @ts-expect-error 'nothing' does not exist in type
  users.list({ nothing: 1 })
  // @ts-expect-error Type '"nothing"' is not assignable
  users.list({ sort: ['nothing'] })
})

test('without annotations, only properties set by the library are optional on create', () => {
  const plain = client<typeof definition>('/users')
  expect(plain.create).type.toBeCallableWith({ name: 'Ada', tags: [], role: 'reader' })
  // @ts-expect-error Argument of type '{ name: string; tags: never[]; }' is not assignable
  plain.create({ name: 'Ada', tags: [] })
})
