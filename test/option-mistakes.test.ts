import { DatabaseSync } from 'node:sqlite'
import { inspect } from 'node:util'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyPluginAsync } from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import collection, { define, defineWith, json, schemaSql } from '../lib/index.ts'
import { batch } from '../lib/doors/batch/batch.ts'
import * as features from './features/all.ts'
import { hal } from '../lib/formats/hal.ts'
import { html } from '../lib/formats/html.ts'
import { xml } from '../lib/formats/xml.ts'
import { relate } from '../lib/relations/relate.ts'
import { service } from '../lib/app/service.ts'
import { memory } from '../lib/storage/memory.ts'
import { mysql } from '../lib/storage/mysql.ts'
import { postgres } from '../lib/storage/postgres.ts'
import { sqlite } from '../lib/storage/sqlite.ts'

// Callers without TypeScript can pass anything to what the package exports. A mistake is an error of the library that
// says what to do, never an error of the engine such as "Cannot read properties of undefined".

const Order = Type.Object({
  id: Type.String({ format: 'uuid' }),
  title: Type.String(),
  total: Type.Number(),
  otherId: Type.String({ format: 'uuid' }),
  deletedAt: Type.Optional(Type.String({ format: 'date-time' }))
})

const storage = memory()

const defineOrders = (name = 'orders', adapter = storage) => define({ name, schema: Order, storage: adapter })

const orders = defineOrders()

type Options = Readonly<Record<string, unknown>>

interface Callee {
  /** Calls it with these options, as JavaScript does. */
  readonly call: (options: unknown) => unknown
  /** Options that it accepts. */
  readonly valid: Options
  /** Those without which it cannot work. */
  readonly required?: readonly string[]
  readonly optional?: readonly string[]
  /** Each call starts an app, which takes longer. */
  readonly isPlugin?: true
}

/** What a caller without TypeScript sees. */
type Untyped = (...given: readonly unknown[]) => never

const add = (feature: Function, ...before: readonly unknown[]) => (options: unknown) => {
  return orders.with((feature as Untyped)(...before, options))
}

const open = (adapter: Function, handle: unknown) => (options: unknown) => {
  return defineOrders('orders', (adapter as Untyped)(handle, options))
}

const register = (plugin: unknown) => async (options: unknown) => {
  const app = Fastify()
  try {
    await app.register(collection, orders)
    await app.register(plugin as FastifyPluginAsync<Options>, options as Options)
    await app.ready()
  } finally {
    await app.close()
  }
}

const run = () => undefined
const sqlOptions = ['table', 'columns', 'version', 'generated', 'indexes', 'receipts']

const callees: Readonly<Record<string, Callee>> = {
  define: {
    call: define as Untyped,
    valid: { name: 'orders', schema: Order, storage },
    required: ['name', 'schema', 'storage'],
    optional: [
      'id', 'unique', 'timestamps', 'actions', 'routes', 'access', 'list', 'put', 'etag', 'cache', 'formats', 'links', 'hooks'
    ]
  },
  defineWith: {
    call: (defaults) => (defineWith as Untyped as (given: unknown) => Function)(defaults)({ name: 'orders', schema: Order }),
    valid: { storage },
    required: ['storage'],
    optional: ['actions', 'routes', 'access', 'list', 'put', 'etag', 'cache', 'formats']
  },
  softDelete: {
    call: add(features.softDelete),
    valid: { property: 'deletedAt' },
    required: ['property'],
    optional: ['allow']
  },
  idempotency: {
    call: add(features.idempotency),
    valid: {},
    optional: ['actions', 'required', 'expiry', 'lease']
  },
  bulk: { call: add(features.bulk), valid: {}, optional: ['update', 'remove', 'maximum'] },
  aggregates: { call: add(features.aggregates), valid: {}, optional: ['by', 'of', 'maximum', 'path'] },
  timeout: { call: add(features.timeout), valid: { all: 1000 }, optional: ['list', 'create'] },
  redirects: { call: add(features.redirects), valid: { to: run }, required: ['to'], optional: ['status'] },
  action: {
    call: add(features.action, 'cancel'),
    valid: { run },
    required: ['run'],
    optional: [
      'on', 'input', 'output', 'allow', 'when', 'safe', 'idempotent', 'etag', 'route', 'title', 'description'
    ]
  },
  relation: {
    call: (author) => (relate as Untyped)({ orders, others: defineOrders('others') }, { orders: { author } }),
    valid: { to: 'others', property: 'otherId' },
    required: ['to', 'property'],
    optional: ['by', 'limit', 'order', 'filter', 'sort', 'references']
  },
  memory: {
    call: (seed) => defineOrders('orders', (memory as Untyped)(seed)),
    valid: { items: [] },
    optional: ['items']
  },
  sqlite: { call: open(sqlite, new DatabaseSync(':memory:')), valid: {}, optional: sqlOptions },
  postgres: {
    call: open(postgres, { connect: run, on: run }),
    valid: {},
    optional: [...sqlOptions, 'preparedStatements']
  },
  mysql: { call: open(mysql, { getConnection: run }), valid: {}, optional: sqlOptions },
  service: {
    call: register(service),
    isPlugin: true,
    valid: { audit: false },
    optional: [
      'home', 'title', 'description', 'client', 'problems', 'appErrors', 'health', 'audit'
    ]
  },
  batch: {
    call: register(batch),
    isPlugin: true,
    valid: { collections: [orders] },
    required: ['collections'],
    optional: ['maximum', 'timeout', 'path', 'idempotency', 'route']
  }
}

// A definition refers to itself, so it has no JSON; neither has a bigint.
const strange = [null, 5, orders, 'x', [5], { nope: 1 }, '', true, [], ['x'], {}, 5n, [5n], NaN, () => 1]

/** The error of a call; undefined if it succeeds. */
async function getError (call: () => unknown): Promise<Error | undefined> {
  try {
    await call()
    return undefined
  } catch (error) {
    return error as Error
  }
}

function isOwn (error: Error | undefined): boolean {
  return error === undefined || String(Object(error).code).startsWith('FST_COLLECTION_')
}

function show (value: unknown): string {
  return inspect(value, { depth: -1 })
}

async function testCallee (t: Test, { call, valid, required = [], optional = [], isPlugin }: Callee): Promise<void> {
  t.equal(await getError(() => call(valid)), undefined, 'accepts what is valid')
  const unknown = await getError(() => call({ ...valid, nope: 1 }))
  t.match(unknown, { code: /^FST_COLLECTION_/, message: /nope|takes nothing, or an object/ }, 'names an unknown option')
  for (const name of required) {
    const { [name]: removed, ...others } = valid
    const error = await getError(() => call(others))
    t.match(error, { code: /^FST_COLLECTION_/, message: /./ }, `refuses a missing ${name}`)
  }
  const wrong: string[] = []
  for (const value of isPlugin ? strange.slice(0, 6) : strange) {
    const error = await getError(() => call(value))
    if (!isOwn(error)) wrong.push(`${show(value)}: ${error!.message}`)
    for (const name of [...required, ...optional]) {
      const found = await getError(() => call({ ...valid, [name]: value }))
      if (!isOwn(found)) wrong.push(`${name}: ${show(value)}: ${found!.message}`)
    }
  }
  t.strictSame(wrong, [], 'strange values are errors of the library, or accepted')
}

for (const [name, callee] of Object.entries(callees)) {
  test(`${name}: unknown, missing and strange options`, async (t) => testCallee(t, callee))
}

test('mistakes say what to do', async (t) => {
  const call = (name: string, options: unknown) => () => callees[name]!.call(options)
  const mistakes: ReadonlyArray<readonly [run: () => unknown, message: RegExp]> = [
    [call('softDelete', {}), /softDelete: property is undefined\. Make it the property .*softDelete\(\{ property: 'deletedAt' \}\)/],
    [call('idempotency', { actions: 'create' }), /actions is "create"\. Make it an array of "create" and "update"/],
    [call('idempotency', { required: 'yes' }), /required is "yes"\. Make it true or false/],
    [call('idempotency', { lease: '5' }), /Both must be whole numbers of milliseconds/],
    [call('action', { run, safe: 'yes' }), /action\("cancel"\): safe is "yes"\. Make it true or false/],
    [call('action', { run, etag: true }), /etag is true\. Make it \{ required: true \}/],
    [call('action', { run, route: null }), /route is null\. Make it an object with options of a Fastify route/],
    [() => add(features.action, undefined)({ run }), /action\(undefined\): the name is a path segment/],
    [() => add(features.within)('otherId'), /within\(\) names the relation "otherId", but the definition has none to one item/],
    [() => add(features.within)(orders.schema), /within\(\) needs the parent collection/],
    [() => add(features.within, orders)(undefined), /within\(\) names the property "undefined".*Available properties: id/],
    [call('relation', { to: 'others', property: 'otherId', references: 'yes' }), /has references: "yes"\. Make it true or false/],
    [call('relation', { to: orders, property: 'otherId' }), /has to: an object\. Name the definition, as in to: "orders"/],
    [() => (relate as Untyped)({ orders }), /relate\(\) takes an object with definitions/],
    [call('memory', { items: 5 }), /memory\(\) takes nothing, or an object with an array of items/],
    [call('memory', []), /memory\(\) takes nothing/],
    [call('sqlite', { tabel: 'x' }), /sqlite\(\) has no option "tabel"\. Available options: table, columns/],
    [call('sqlite', { table: 5 }), /The option table of sqlite\(\) is a number\. It must be the name of a table/],
    [call('sqlite', { version: {} }), /The option version of sqlite\(\) is an object\. It must be the name of a column/],
    [call('postgres', null), /The options of postgres\(\) are null\. Make them an object with table/],
    [call('mysql', { consistentReads: true }), /mysql\(\) has no option "consistentReads"/],
    [call('service', { health: 5 }), /health is 5\. It must be an object with live, ready/],
    [call('service', { audit: 5 }), /audit is 5\. It must be false or an object with strict/],
    [call('batch', { collections: [orders], idempotency: 5 }), /idempotency is 5\. Make it an object with required/],
    [call('batch', { collections: [orders], route: null }), /route is null\. Make it an object/],
    [call('define', { ...callees.define!.valid, prefix: '/v1' }), /no option "prefix"\. Pass it to register: app\.register\(collection, \{ \.\.\.definition, prefix \}\)/],
    [call('define', { ...callees.define!.valid, filter: ['title'] }), /there is no option "filter"\. Use list\.filter\. Available options: name, schema/],
    [call('define', { ...callees.define!.valid, allow: 'public' }), /there is no option "allow"\. Use access\.allow\./],
    [call('define', { ...callees.define!.valid, softDelete: true }), /It is a feature: add \.with\(softDelete\(\.\.\.\)\), from fastify-collections\/soft-delete\./],
    [call('action', run), /action\("cancel"\) takes an object with .*, but got the function run\./],
    [call('timeout', '5s'), /timeout takes a number of milliseconds, or an object with one for each action, but got "5s"\./],
    [call('bulk', { maximum: NaN }), /bulk: maximum is NaN\./],
    [() => (schemaSql as Untyped)([orders]), /schemaSql\(\) needs what define\(\) returns\. Pass one or more definitions/],
    [() => (schemaSql as Untyped)(undefined), /schemaSql\(\) needs what define\(\) returns/],
    [call('define', undefined), /the options are undefined\. Make them an object, as in define\(\{ name, schema, storage \}\)/],
    [call('defineWith', undefined), /the options are undefined\. Make them an object, as in defineWith/]
  ]
  for (const [run, message] of mistakes) {
    t.match(await getError(run), { code: /^FST_COLLECTION_/, message }, String(message))
  }
})

test('formats that are no formats are refused', async (t) => {
  for (const format of [null, 5, 'hal', {}, () => hal, [hal]]) {
    const error = await getError(() => callees.define!.call({ ...callees.define!.valid, formats: [format] }))
    t.match(error, { code: 'FST_COLLECTION_BAD_OPTION', message: /formats contains .*which is not a format/ }, show(format))
  }
  const valid = { ...callees.define!.valid, formats: [json, hal, xml, html] }
  t.equal(await getError(() => callees.define!.call(valid)), undefined)
})
