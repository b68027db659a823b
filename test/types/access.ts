import type { FastifyRequest } from 'fastify'
import '@fastify/jwt'
import { Type } from '@sinclair/typebox'
import Type1 from 'typebox'
import { define, allowedActions } from '../../lib/index.ts'
import type { Definition } from '../../lib/index.ts'
import type { AccessContext, ActionName, AnyActionName, AllowFunction } from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { expect, test } from './expect.ts'

declare module '@fastify/jwt' {
  interface FastifyJWT {
    payload: { sub: string; role?: string; exp?: number }
    user: { sub: string; role?: string }
  }
}

const Note034 = Type.Object({
  id: Type.Integer(),
  owner: Type.String(),
  text: Type.Optional(Type.String()),
  salary: Type.Number()
})
const Note1 = Type1.Object({
  id: Type1.Integer(),
  owner: Type1.String(),
  text: Type1.Optional(Type1.String()),
  salary: Type1.Number()
})
const of034 = { name: 'notes', schema: Note034, storage: memory() }
const of1 = { name: 'notes', schema: Note1, storage: memory() }

test('a caller is a string, or undefined', () => {
  expect(define).type.toBeCallableWith({
    ...of034,
    access: {
      authenticate: async ({ request }: { request: FastifyRequest }) => (await request.jwtVerify<{ sub: string }>()).sub
    }
  })
  expect(define).type.toBeCallableWith({ ...of1, access: { authenticate: () => undefined, challenge: 'Basic' } })
  // @ts-expect-error Type '() => number' is not assignable
  define({ ...of034, access: { authenticate: () => 7 } })
  // @ts-expect-error has no properties in common
  define({ ...of034, access: () => 'ada' })
})

test('a rule is a keyword or a predicate on the Fastify request, as plugins extend it', () => {
  define({
    ...of034,
    access: {
      authenticate: () => 'ada',
      allow: { all: 'authenticated', remove: ({ request }) => request?.user.role === 'hr' }
    }
  })
  define({
    ...of1,
    access: {
      allow: async ({ request, action, caller }) =>
        request?.user.role === 'hr' && action === 'list' && caller !== undefined ? true : 'hidden'
    }
  })
  expect<Parameters<AllowFunction>>().type.toBe<[context: AccessContext]>()
  expect<AccessContext['request']>().type.toBe<FastifyRequest | undefined>()
  expect<AccessContext['action']>().type.toBe<AnyActionName>()
  expect<ActionName>().type.toBeAssignableTo<AnyActionName>()
  expect<AccessContext['caller']>().type.toBe<string | undefined>()
  // @ts-expect-error Type '"everybody"' is not assignable
  define({ ...of034, access: { allow: 'everybody' } })
  // @ts-expect-error 'delete' does not exist in type
  define({ ...of034, access: { allow: { delete: 'public' } } })
  // @ts-expect-error Type '() => "visible"' is not assignable
  define({ ...of034, access: { allow: () => 'visible' } })
  // @ts-expect-error Type '() => undefined' is not assignable
  define({ ...of034, access: { allow: () => undefined } })
})

test('allowedActions() returns the names of actions', () => {
  const notes = define(of034)
  expect(allowedActions(notes, {} as FastifyRequest)).type.toBe<Promise<ReadonlySet<AnyActionName>>>()
  expect(notes).type.toBeAssignableTo<Definition>()
})

test('a scope uses properties of the items', () => {
  define({
    ...of034,
    access: {
      scope: ({ request, action, caller }) =>
        action === 'list' && caller === undefined ? undefined : { values: { owner: request?.user.sub ?? '' } }
    }
  })
  define({
    ...of1,
    access: {
      scope: async ({ request }) => ({
        filter: {
          any: [
            { owner: request?.user.sub ?? '' },
            { not: { 'text.null': false } }
          ]
        },
        values: { owner: request?.user.sub ?? '' }
      })
    }
  })
  // @ts-expect-error Type '() => { values: { ownr: string; }; }' is not assignable
  define({ ...of034, access: { scope: () => ({ values: { ownr: 'ada' } }) } })
  // @ts-expect-error Type '() => { values: { owner: number; }; }' is not assignable
  define({ ...of034, access: { scope: () => ({ values: { owner: 7 } }) } })
  // @ts-expect-error Type '() => { values: { owner: number; }; }' is not assignable
  define({ ...of1, access: { scope: () => ({ values: { owner: 7 } }) } })
  define({
    ...of034,
    // @ts-expect-error is not assignable
    access: { scope: () => ({ filter: { owner: null } }) }
  })
  define({
    ...of034,
    // @ts-expect-error is not assignable
    access: { scope: () => ({ filter: { any: { owner: 'ada' } } }) }
  })
  // @ts-expect-error Type '() => boolean' is not assignable
  define({ ...of034, access: { scope: () => true } })
})

test('visible uses properties of the items', () => {
  define({
    ...of034,
    access: {
      visible: { salary: ({ request }) => request?.user.role === 'hr', text: async ({ caller }) => caller === 'ada' }
    }
  })
  define({ ...of1, access: { visible: { salary: ({ caller }) => caller === 'ada' } } })
  // @ts-expect-error 'salry' does not exist in type
  define({ ...of034, access: { visible: { salry: () => true } } })
  // @ts-expect-error 'salry' does not exist in type
  define({ ...of1, access: { visible: { salry: () => true } } })
  // @ts-expect-error Type '() => string' is not assignable
  define({ ...of034, access: { visible: { salary: () => 'yes' } } })
  // @ts-expect-error 'visible' does not exist in type
  define({ ...of034, visible: { salary: true } })
})
