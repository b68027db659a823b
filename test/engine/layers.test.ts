import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import * as features from '../features/all.ts'
import collection, { define, problem, ProblemError } from '../../lib/index.ts'
import { registry } from '../../lib/app/registry.ts'
import { changeOperation, describeLayers } from '../../lib/features/index.ts'
import type { Definition } from '../../lib/index.ts'
import type { Feature } from '../../lib/features/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { modified } from '../app.ts'

const Note = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  text: Type.String(),
  parentId: Type.Optional(Type.String()),
  deletedAt: Type.Optional(Type.String({ format: 'date-time' }))
})
const notes = () => define({ name: 'notes', schema: Note, storage: memory() })

async function serve (t: Test, definition: Definition<typeof Note.static>) {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(registry)
  await app.register(collection, definition)
  await app.ready()
  return { app, calls: app.collection(definition) }
}

/** Refuses writes, as the docs show. */
const maintenance: Feature<object> = {
  name: 'maintenance',
  setup (host) {
    host.wrap('operation', (next, { safe }) => safe ? next : async () => problem('service-unavailable'))
  }
}

const known: Readonly<Record<string, () => Feature<typeof Note.static, unknown>>> = {
  action: () => features.action('archive', { run: () => {} }),
  bulk: () => features.bulk({ update: true, remove: true }),
  idempotency: () => features.idempotency(),
  maintenance: () => maintenance,
  redirects: () => features.redirects({ to: () => undefined }),
  softDelete: () => features.softDelete({ property: 'deletedAt', allow: () => true }),
  timeout: () => features.timeout(600_000),
  within: () => features.within(define({ name: 'parents', schema: Note, storage: memory() }), 'parentId')
}

// The order of layers decides security. After an intended change, record it again and read the diff:
// RECORD=true npx tap run --disable-coverage test/engine/layers.test.ts
test('the layers of every pair of features are in the recorded order, over HTTP and from code', async (t) => {
  const file = new URL('./layers.txt', import.meta.url)
  const names = Object.keys(known)
  const pairs = names.flatMap((name, index) => names.slice(index).map((other) => [...new Set([name, other])]))
  const lines = pairs.flatMap((pair) => {
    let definition: Definition<typeof Note.static, unknown> = notes()
    for (const name of pair) definition = definition.with(known[name]!())
    return (['http', 'code'] as const).map((door) => {
      // Only the actions that have layers.
      const described = describeLayers(definition, door).split('\n').filter((line) => line.includes('>'))
      return [`== ${pair.join(' + ')}, ${door}`, ...described, ''].join('\n')
    })
  })
  const text = lines.join('\n')
  if (process.env.RECORD === 'true') writeFileSync(file, text)
  t.equal(text, existsSync(file) ? readFileSync(file, 'utf8') : '')
  t.equal(lines.length, 72)
})

test('features that each must surround the other are refused', async (t) => {
  const around = (name: string, other: string): Feature<object> => ({
    name,
    setup (host) {
      host.wrap('find', (next) => (...parameters) => next(...parameters), { outside: [other] })
    }
  })
  t.throws(() => notes().with(around('a', 'b'), around('b', 'a')), {
    code: 'FST_COLLECTION_BAD_OPTION',
    message: /the features a, b each must surround another at "find"/
  })
  const text = describeLayers(notes().with(around('a', 'b'), around('b', 'c'), around('c', 'd')))
  t.match(text, /read: authorize > find\(a > b > c\)/)
})

test('a layer of write that needs a transaction is refused on a storage without them', async (t) => {
  const around = (transaction: boolean): Feature<object> => ({
    name: 'around',
    setup (host) {
      host.wrap('write', (next) => (...parameters) => next(...parameters), { transaction })
    }
  })
  const definition = define({
    name: 'notes',
    schema: Note,
    storage: modified((storage) => ({ supports: { ...storage.supports, transactions: false } }))
  })
  t.throws(() => definition.with(around(true)), {
    code: 'FST_COLLECTION_UNSUPPORTED',
    message: /the layer of the feature around around writes needs a transaction/
  })
  const { calls } = await serve(t, definition.with(around(false)))
  t.match(await calls.create({ text: 'a' }), { item: { text: 'a' } })
})

test('a layer can change an operation for the next one, over HTTP and from code', async (t) => {
  const { app, calls } = await serve(t, notes().with({
    name: 'shout',
    setup (host) {
      host.wrap('operation', (next, { name }) => (operation) => {
        const content: typeof operation.content = () => {
          const sent = operation.content()
          return 'value' in sent ? { value: { ...Object(sent.value), text: 'LOUD' } } : sent
        }
        return next(name === 'create' ? changeOperation(operation, { content }) : operation)
      })
    }
  }))
  const { statusCode, headers } = await app.inject({ method: 'POST', url: '/notes', payload: { text: 'a' } })
  t.equal(statusCode, 201)
  t.match((await app.inject(String(headers.location))).json(), { text: 'LOUD' })
  t.match(await calls.create({ text: 'b' }), { item: { text: 'LOUD' } })
})

test('a layer can be for one door, and for outermost operations', async (t) => {
  const seen: string[] = []
  const note = (name: string, options: object): Feature<object> => ({
    name,
    setup (host) {
      host.wrap('operation', (next, { name: action }) => (operation) => {
        seen.push(`${name} ${action}`)
        return next(operation)
      }, options)
    }
  })
  const { app, calls } = await serve(t, notes().with(
    note('http', { doors: ['http'] }),
    note('code', { doors: ['code'] }),
    note('outermost', { outermost: true }),
    note('all', {})
  ))
  await app.inject({ method: 'POST', url: '/notes', payload: { text: 'a' } })
  t.strictSame(seen.splice(0), ['all create', 'http create', 'outermost create'])
  await calls.create({ text: 'b' })
  t.strictSame(seen.splice(0), ['all create', 'code create', 'outermost create'])
  await calls.transaction((transaction) => calls.create({ text: 'c' }, { transaction }))
  t.strictSame(seen.splice(0), ['all create', 'code create'])
})

test('a layer that refuses writes applies to calls within a transaction, too', async (t) => {
  const { calls } = await serve(t, notes().with(maintenance))
  await t.rejects(calls.create({ text: 'a' }), { name: 'ProblemError', code: 'service-unavailable' })
  await t.rejects(calls.transaction((transaction) => calls.create({ text: 'a' }, { transaction })), {
    name: 'ProblemError',
    code: 'service-unavailable'
  })
})

test('timeout limits a call from code, and nothing is written after it', async (t) => {
  const definition = define({
    name: 'notes',
    schema: Note,
    storage: memory(),
    hooks: {
      async beforeValidation ({ item, action }) {
        if (action === 'update') await wait(50)
        return item
      }
    }
  }).with(features.timeout({ update: 1 }))
  const { calls } = await serve(t, definition)
  const { id } = await calls.create({ text: 'a' })
  const error = await calls.update(id, { text: 'b' }).catch((thrown: unknown) => thrown)
  t.match(error, { name: 'ProblemError', code: 'timeout', message: /Nothing was changed/ })
  t.ok(error instanceof ProblemError)
  await wait(100)
  t.match(await calls.read(id), { item: { text: 'a' } })
})

test('an array from code is not an item, with bulk as well', async (t) => {
  const { calls } = await serve(t, notes().with(features.bulk()))
  const array: object = [{ text: 'a' }, { text: 'b' }]
  await t.rejects(calls.create(array), { code: 'validation-failed', errors: [{ pointer: '', message: 'must be object' }] })
  for await (const { item } of calls.list()) t.fail(`${item.text} was created`)
})

test('a call from code gets gone for a deleted item, and the app can restore it', async (t) => {
  const { calls } = await serve(t, notes().with(features.softDelete({ property: 'deletedAt' })))
  const { id } = await calls.create({ text: 'a' })
  await calls.remove(id)
  await t.rejects(calls.read(id), { code: 'gone' })
  await t.rejects(calls.remove(id), { code: 'gone' })
  await t.rejects(calls.update(id, { text: 'b' }), { code: 'gone', message: /To restore the item/ })
  await t.rejects(calls.update(id, { text: 'b' }, { caller: 'ada' }), { code: 'gone' }, 'allow is missing')
  t.match(await calls.replace(id, { text: 'c' }), { id, item: { text: 'c' } })
  t.match(await calls.read(id), { item: { text: 'c', deletedAt: undefined } })
})
