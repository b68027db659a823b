import * as features from '../features/all.ts'
import type { AccessContext } from '../../lib/index.ts'
import Fastify from 'fastify'
import collection from '../../lib/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { ada, alan, notes, pages, unknownUser, users } from './collections.ts'
import type { Area } from './recorder.ts'

export const idempotency: Area = async (recorder) => {
  await recorder.serve([
    users().with(features.idempotency(), features.bulk()),
    notes().with(features.idempotency({ required: true, actions: ['create'] }))
  ])
  const key = (value: string) => ({ 'idempotency-key': value })
  await recorder.send('POST /users', { content: ada, headers: key('"one"') })
  await recorder.send('POST /users', { content: ada, headers: key('"one"') })
  await recorder.send('POST /users', { content: ada, headers: key('one') })
  await recorder.send('POST /users', { content: ada, headers: { ...key('"one"'), prefer: 'return=minimal' } })
  await recorder.send('POST /users', { content: alan, headers: key('"one"') })
  const { location } = await recorder.send('POST /users', { content: alan, headers: key('"two"') })
  await recorder.send('POST /users', { content: {}, headers: key('"three"') })
  await recorder.send('POST /users', { content: ada, headers: key('"four"') })
  for (const malformed of ['', '"', '"a", "b"', '5', `"${'x'.repeat(300)}"`]) {
    await recorder.send('POST /users', { content: alan, headers: key(malformed) })
  }
  await recorder.send(`PATCH ${location}`, { content: { age: 5 }, headers: key('"patch"') })
  await recorder.send(`PATCH ${location}`, { content: { age: 5 }, headers: key('"patch"') })
  await recorder.send(`PATCH ${location}`, { content: { age: 6 }, headers: key('"patch"') })
  await recorder.send(`PUT ${location}`, { content: alan, headers: key('"put"') })
  await recorder.send('POST /users', {
    content: [
      { ...ada, email: 'a@example.com' },
      { ...ada, email: 'b@example.com' }
    ],
    headers: key('"bulk"')
  })
  await recorder.send('POST /users', {
    content: [
      { ...ada, email: 'a@example.com' },
      { ...ada, email: 'b@example.com' }
    ],
    headers: key('"bulk"')
  })
  await recorder.send('POST /notes', { content: { text: 'a' } })
  await recorder.send('POST /notes', { content: { text: 'a' }, headers: key('"n"') })
  await recorder.send('PATCH /notes/1', { content: { text: 'b' } })
}

export const softDelete: Area = async (recorder) => {
  const allow = async ({ request }: Pick<AccessContext, 'request'>) => request?.headers['x-user'] === 'root'
  const root = { 'x-user': 'root' }
  await recorder.serve([notes().with(features.softDelete({ property: 'deletedAt', allow })), pages({ name: 'plain' })])
  await recorder.send('POST /notes', { content: { text: 'a', deletedAt: '2000-01-01T00:00:00Z' } })
  await recorder.send('POST /notes', { content: { text: 'b' } })
  await recorder.send('DELETE /notes/1')
  for (const headers of [{}, root]) {
    for (const target of [
      'GET /notes',
      'GET /notes/1',
      'HEAD /notes/1',
      'GET /notes?deleted=true',
      'GET /notes/1?deleted=true',
      'DELETE /notes/1',
      'GET /notes?deleted=x'
    ]) {
      await recorder.send(target, { headers })
    }
    await recorder.send('PATCH /notes/1', { content: { text: 'c' }, headers })
  }
  await recorder.send('PATCH /notes/1', { content: { deletedAt: null }, headers: root })
  await recorder.send('DELETE /notes/1')
  await recorder.send('PUT /notes/1', { content: { text: 'back' }, headers: root })
  await recorder.send('GET /notes')
  await recorder.send('GET /plain?deleted=true')
}

export const redirects: Area = async (recorder) => {
  const gone: Record<string, string | { href: string }> = { old: 'new', elsewhere: { href: 'https://example.com/x' } }
  const app = Fastify({ forceCloseConnections: true })
  app.register(collection, pages().with(features.redirects({ to: ({ id: slug }) => gone[slug] })))
  app.register(
    collection,
    notes().with(features.redirects({ to: ({ id }) => (id === '7' ? 1 : undefined), status: 308 }))
  )
  await recorder.use(app)
  await recorder.send('POST /pages', { content: { slug: 'new', title: 'New' } })
  for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS']) {
    for (const slug of ['old', 'elsewhere', 'none']) await recorder.send(`${method} /pages/${slug}`)
  }
  await recorder.send('PATCH /pages/old', { content: { title: 'x' }, headers: { 'if-match': '"x"' } })
  await recorder.send('GET /notes/7')
}

export const nesting: Area = async (recorder) => {
  const parents = notes({ name: 'parents' })
  const children = notes({ name: 'children' })
  await recorder.serve([parents, children, children.with(features.within(parents, 'userId'))])
  await recorder.send('POST /parents', { content: { text: 'p' } })
  await recorder.send('POST /children', { content: { text: 'elsewhere', userId: 2 } })
  for (const target of [
    'GET /parents/1/children',
    'GET /parents/9/children',
    'GET /parents/x/children',
    'OPTIONS /parents/1/children',
    'DELETE /parents/1/children',
    'GET /parents/1/children/1'
  ]) {
    await recorder.send(target)
  }
  await recorder.send('POST /parents/1/children', { content: { text: 'c' } })
  await recorder.send('POST /parents/1/children', { content: { text: 'c', userId: 5 } })
  await recorder.send('POST /parents/9/children', { content: { text: 'c' } })
  for (const target of [
    'GET /parents/1/children/2',
    'GET /parents/1/children',
    'GET /children?userId=1',
    'GET /parents/1/children?limit=1'
  ]) {
    await recorder.send(target)
  }
  await recorder.send('PUT /parents/1/children/2', { content: { text: 'd' } })
  await recorder.send('PATCH /parents/1/children/2', { content: { userId: 7 } })
  await recorder.send('GET /parents/1', { headers: { accept: 'application/hal+json' } })
  await recorder.send('GET /parents/1/children', { headers: { accept: 'application/hal+json' } })
  await recorder.send('DELETE /parents/1/children/2')
  await recorder.send('DELETE /parents/1/children/1')
}

export const timeout: Area = async (recorder) => {
  const slow = (shape: Parameters<ReturnType<typeof memory>>[0]) => {
    const storage = memory()<never>(shape)
    const never = () => new Promise<never>(() => {})
    return { ...storage, list: never, find: never }
  }
  await recorder.serve(users({ storage: slow }).with(features.timeout(20)))
  await recorder.send('GET /users')
  await recorder.send(`GET ${unknownUser}`)
  await recorder.send(`PATCH ${unknownUser}`, { content: {} })
  await recorder.send('POST /users', { content: ada })
}

export const failures: Area = async (recorder) => {
  const failing = (error: Error) => (shape: Parameters<ReturnType<typeof memory>>[0]) => {
    const fail = () => Promise.reject(error)
    return { ...memory()<never>(shape), list: fail, find: fail, insert: fail, remove: fail }
  }
  for (const error of [
    new Error('internal detail'),
    Object.assign(new Error('down'), { unreachable: true, retryAfter: 5 }),
    Object.assign(new Error('driver'), { statusCode: 418 })
  ]) {
    await recorder.serve(users({ storage: failing(error) }))
    await recorder.send('GET /users')
    await recorder.send(`GET ${unknownUser}`)
    await recorder.send('POST /users', { content: ada })
    await recorder.send(`PATCH ${unknownUser}`, { content: {} })
    await recorder.send(`DELETE ${unknownUser}`)
  }
}
