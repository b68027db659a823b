import { expect, test } from 'tstyche'
import type { FastifyRequest } from 'fastify'
import '@fastify/jwt'
import { Type } from '@sinclair/typebox'
import Type1 from 'typebox'
import { define, permitted } from '../../lib/index.ts'
import type { Definition } from '../../lib/index.ts'
import type { ActionName, Predicate } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'

declare module '@fastify/jwt' {
  interface FastifyJWT {
    payload: { sub: string, role?: string, exp?: number }
    user: { sub: string, role?: string }
  }
}

const Note034 = Type.Object({ id: Type.Integer(), owner: Type.String(), text: Type.Optional(Type.String()), salary: Type.Number() })
const Note1 = Type1.Object({ id: Type1.Integer(), owner: Type1.String(), text: Type1.Optional(Type1.String()), salary: Type1.Number() })
const of034 = { name: 'notes', schema: Note034, storage: memory() }
const of1 = { name: 'notes', schema: Note1, storage: memory() }

test('a caller is a text, or nobody', () => {
  expect(define).type.toBeCallableWith({ ...of034, authentication: { caller: async (request: FastifyRequest) => (await request.jwtVerify<{ sub: string }>()).sub } })
  expect(define).type.toBeCallableWith({ ...of1, authentication: { caller: () => undefined, challenge: 'Basic' } })
  expect(define).type.not.toBeCallableWith({ ...of034, authentication: { caller: () => 7 } })
  expect(define).type.not.toBeCallableWith({ ...of034, authentication: { challenge: 'Basic' } })
  expect(define).type.not.toBeCallableWith({ ...of034, authentication: () => 'ada' })
})

test('a rule is a word or a predicate over the request that Fastify gives, as plugins extend it', () => {
  define({ ...of034, authentication: { caller: () => 'ada' }, access: { every: 'authenticated', remove: request => request.user.role === 'hr' } })
  define({ ...of1, access: async (request, action, caller) => request.user.role === 'hr' && action === 'list' && caller !== undefined ? true : 'hidden' })
  expect<Parameters<Predicate>>().type.toBe<[request: FastifyRequest, action: ActionName, caller: string | undefined]>()
  expect(define).type.not.toBeCallableWith({ ...of034, access: 'everybody' })
  expect(define).type.not.toBeCallableWith({ ...of034, access: { delete: 'public' } })
  expect(define).type.not.toBeCallableWith({ ...of034, access: () => 'visible' })
  expect(define).type.not.toBeCallableWith({ ...of034, access: () => undefined })
})

test('permitted gives names of actions', () => {
  const notes = define(of034)
  expect(permitted(notes, {} as FastifyRequest)).type.toBe<Promise<ReadonlySet<ActionName>>>()
  expect(notes).type.toBeAssignableTo<Definition>()
})

test('a scope is about properties of the items', () => {
  define({ ...of034, scope: (request, action, caller) => action === 'list' && caller === undefined ? undefined : { values: { owner: request.user.sub } } })
  define({ ...of1, scope: async request => ({ filter: { any: [{ property: 'owner', is: 'eq', value: request.user.sub }, { not: { property: 'text', is: 'null', value: false } }] }, values: { owner: request.user.sub } }) })
  expect(define).type.not.toBeCallableWith({ ...of034, scope: () => ({ values: { ownr: 'ada' } }) })
  expect(define).type.not.toBeCallableWith({ ...of034, scope: () => ({ values: { owner: 7 } }) })
  expect(define).type.not.toBeCallableWith({ ...of1, scope: () => ({ values: { owner: 7 } }) })
  expect(define).type.not.toBeCallableWith({ ...of034, scope: () => ({ filter: { property: 'ownr', is: 'eq' as const, value: 'ada' } }) })
  expect(define).type.not.toBeCallableWith({ ...of034, scope: () => ({ filter: { property: 'owner' as const, is: 'is' as const, value: 'ada' } }) })
  expect(define).type.not.toBeCallableWith({ ...of034, scope: () => true })
})

test('visible is about properties of the items', () => {
  define({ ...of034, visible: { salary: request => request.user.role === 'hr', text: async (_request, caller) => caller === 'ada' } })
  define({ ...of1, visible: { salary: (_request, caller) => caller === 'ada' } })
  expect(define).type.not.toBeCallableWith({ ...of034, visible: { salry: () => true } })
  expect(define).type.not.toBeCallableWith({ ...of1, visible: { salry: () => true } })
  expect(define).type.not.toBeCallableWith({ ...of034, visible: { salary: () => 'yes' } })
  expect(define).type.not.toBeCallableWith({ ...of034, visible: { salary: true } })
})
