import { readFileSync } from 'node:fs'
import { Type } from '@sinclair/typebox'
import cors from '@fastify/cors'
import Fastify from 'fastify'
import t, { test } from 'tap'
import * as errors from '../lib/errors/errors.ts'
import { mcp } from '../lib/doors/agents/mcp.ts'
import { batch } from '../lib/doors/batch/batch.ts'
import collection, { define, defineWith } from '../lib/index.ts'
import { registry } from '../lib/app/registry.ts'
import { service } from '../lib/app/service.ts'
import type { Adapter, Storage, Supports } from '../lib/storage/index.ts'
import { memory } from '../lib/storage/memory.ts'
import { mysql } from '../lib/storage/mysql.ts'
import { postgres } from '../lib/storage/postgres.ts'
import { sqlite } from '../lib/storage/sqlite.ts'
import { action } from '../lib/features/action.ts'
import { bulk } from '../lib/features/bulk.ts'
import { relate } from '../lib/relations/relate.ts'
import { timeout } from '../lib/features/timeout.ts'
import { within } from '../lib/features/within.ts'

const uuid = Type.String({ format: 'uuid' })
const User = Type.Object({ id: uuid, email: Type.String() })
const users = { name: 'users', schema: User, storage: memory() }

/** As from JavaScript, without type checks. */
const loose = define as unknown as (options: object) => ReturnType<typeof define>
const register = collection as unknown as (app: object, definition: unknown) => Promise<void>

/** A storage without support for these. */
function without (...names: ReadonlyArray<keyof Supports>): Adapter<{ id: string; email: string }> {
  return (shape) => {
    const storage = memory()<{ id: string; email: string }>(shape)
    return { ...storage, supports: { ...storage.supports, ...Object.fromEntries(names.map((name) => [name, false])) } }
  }
}

/** Starts an app whose storage has other parts. */
async function start (parts: Partial<Storage<{ id: string; email: string }>>): Promise<void> {
  const app = Fastify()
  t.teardown(() => app.close().catch(() => {}))
  await app.register(
    collection,
    define({ ...users, storage: (shape) => ({ ...memory()<{ id: string; email: string }>(shape), ...parts }) })
  )
  await app.ready()
}

async function callUnserved (): Promise<void> {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(registry)
  await app.collection(define(users)).create({ email: 'ada@example.com' })
}

async function twice (): Promise<void> {
  const app = Fastify()
  t.teardown(() => app.close())
  const definition = define(users)
  await app.register(collection, definition)
  await app.register(collection, definition)
}

/** An app with the service, as from JavaScript. */
async function serve (options: object, prepare?: (app: ReturnType<typeof Fastify>) => void): Promise<void> {
  const app = Fastify()
  t.teardown(() => app.close())
  prepare?.(app)
  await app.register(service, options)
}

/** By code: what causes the error, and the part of the message that says how to fix it. */
const mistakes: Readonly<
  Record<string, ReadonlyArray<readonly [what: string, provoke: () => unknown, names: RegExp]>>
> = {
  FST_COLLECTION_NO_DEFINITION: [
    ['options that define did not return', () => register(Fastify(), users), /define\(/],
    ['nothing', () => register(Fastify(), undefined), /define\(/]
  ],
  FST_COLLECTION_NOT_REGISTERED: [
    ['a call of a definition that the app does not serve', () => callUnserved(), /app\.register\(collection/]
  ],
  FST_COLLECTION_BAD_OPTION: [
    ['the name of a format', () => loose({ ...users, formats: ['json'] }), /"json", which is not a format.*\[json, hal\]/],
    ['a format without functions', () => loose({ ...users, formats: [{ name: 'a', mediaType: 'a/b' }] }), /\[json, hal\]/],
    ['formats that are undefined', () => loose({ ...users, formats: [undefined] }), /formats contains undefined, which is not a format/],
    [
      'a feature that was not called',
      () => define(users).with(bulk as never),
      /with\(\) got the function bulk instead of a feature\. Call it, as in \.with\(bulk\(\)\)\./
    ],
    [
      'a misspelled hook',
      () => loose({ ...users, routes: { all: { onRequst: [() => {}] } } }),
      /routes\.all\.onRequst is a function, but no hook of Fastify.*onRequest/
    ],
    [
      'a misspelled hook of an action',
      () => define(users).with(action('look', { route: { preHandlr: () => {} } as never, run () {} }) as never),
      /route of the action "look"\.preHandlr/
    ],
    ['the name of a feature', () => define(users).with('bulk' as never), /got "bulk" instead of a feature.*bulk\(\)/],
    ['several features in an array', () => define(users).with([bulk()] as never), /instead of a feature/],
    ['no feature', () => define(users).with(false as never), /got false instead of a feature/],
    [
      'a feature of all collections that was not called',
      () => defineWith({ storage: memory() }, bulk as never)({ name: 'users', schema: User }),
      /got the function bulk/
    ],
    [
      'a relation to an unknown name',
      () => relate({ users: define(users) }, { users: { team: { to: 'teams', property: 'email' } } } as never),
      /the relation "team" leads to "teams", but relate\(\) got no definition of that name\. Use one of users/
    ],
    [
      'a relation to nothing',
      () => relate({ users: define(users) }, { users: { team: undefined } } as never),
      /relate: the relation "team" takes an object/
    ],
    ['no relations', () => relate({ users: define(users) }, undefined as never), /relate\(\) takes/],
    ['a relation of nothing', () => relate({ users: users as never }, {} as never), /relate\(\) needs what define/],
    ['the name of a parent', () => define(users).with(within('teams' as never, 'email')), /within\(\) names the relation "teams"/],
    [
      'hooks for every collection',
      () => defineWith({ storage: memory(), hooks: {} } as never)({ name: 'users', schema: User } as never),
      /the defaults of defineWith\(\) cannot have "hooks"\. Add it to each definition/
    ],
    ['an option that does not exist', () => loose({ ...users, uniqe: ['email'] }), /"uniqe".*unique/],
    ['no storage', () => loose({ ...users, storage: undefined }), /memory\(\)/],
    ['an action that does not exist', () => loose({ ...users, actions: ['delete'] }), /"delete".*remove/],
    [
      'route options of an action that does not exist',
      () => loose({ ...users, routes: { delete: {} } }),
      /"delete".*all/
    ],
    [
      'a route option of the library',
      () => loose({ ...users, routes: { list: { schema: {} } } }),
      /routes\.list\.schema/
    ],
    [
      'a page above its maximum',
      () => define({ ...users, list: { limit: { default: 200 } } }),
      /default: 200, maximum: 100/
    ],
    [
      'a timeout of an action that does not exist',
      () => define(users).with(timeout({ delete: 5 } as never)),
      /timeout: there is no option "delete".*remove/
    ],
    ['a timeout that is no time', () => define(users).with(timeout(0)), /timeout: "all" is 0.*milliseconds/],
    [
      'a timeout of a part of a millisecond',
      () => define(users).with(timeout({ list: 0.5 })),
      /timeout: "list" is 0\.5/
    ],
    ['a timeout further than a timer goes', () => define(users).with(timeout(2 ** 31)), /2147483647/],
    [
      'a timeout in words',
      () => define(users).with(timeout('5s' as never)),
      /timeout takes a number of milliseconds, or an object.*but got "5s"/
    ],
    ['a page of no items', () => define({ ...users, list: { limit: { default: 0 } } }), /default: 0/],
    [
      'PUT that creates, with ids by the storage',
      () => define({ ...users, id: { generate: 'storage' }, put: { create: true } }),
      /put\.create/
    ],
    [
      'a filter by what is no property',
      () => loose({ ...users, list: { filter: ['mail'] } }),
      /list\.filter contains "mail".*Available properties: id, email/
    ],
    [
      'a search in what is no text',
      () => loose({ ...users, schema: Type.Object({ id: uuid, age: Type.Integer() }), list: { search: ['age'] } }),
      /list\.search contains "age".*not a string/
    ]
  ],
  FST_COLLECTION_BAD_NAME: [
    ['a name with a space', () => define({ ...users, name: 'my users' }), /"my users".*letters/],
    ['a name with a slash', () => define({ ...users, name: 'a/b' }), /"a\/b"/],
    ['the name of the folder above', () => define({ ...users, name: '..' }), /"\.\."/],
    ['no name', () => loose({ ...users, name: undefined }), /undefined/]
  ],
  FST_COLLECTION_BAD_SCHEMA: [
    ['a schema that is no object', () => loose({ ...users, schema: Type.String() }), /Type\.Object/],
    ['no schema', () => loose({ ...users, schema: undefined }), /Type\.Object/],
    [
      'a format that is not known',
      () => define({ ...users, schema: Type.Object({ id: uuid, email: Type.String({ format: 'mail' }) }) }),
      /"mail".*ajv-formats/
    ],
    [
      'a type without a JSON form',
      () => define({ ...users, schema: Type.Object({ id: uuid, at: Type.Date() }) }),
      /format/
    ],
    [
      'a timestamp that is no date-time',
      () => define({ ...users, timestamps: { created: 'email' } }),
      /"email".*date-time/
    ]
  ],
  FST_COLLECTION_BAD_ID: [
    [
      'no id',
      () => define({ name: 'users', schema: Type.Object({ email: Type.String() }), storage: memory() }),
      /"id".*Type\.String/
    ],
    [
      'an optional id',
      () => define({ name: 'users', schema: Type.Object({ id: Type.Optional(uuid) }), storage: memory() }),
      /Type\.Optional/
    ],
    ['an unknown generator of ids', () => loose({ ...users, id: { generate: 'nobody' } }), /"nobody".*"client"/],
    [
      'an invalid generated id',
      () => define({ name: 'users', schema: Type.Object({ id: Type.Integer() }), storage: memory() }),
      /is invalid for the schema.*uuid/
    ]
  ],
  FST_COLLECTION_UNKNOWN_PROPERTY: [
    ['unique', () => loose({ ...users, unique: ['mail'] }), /unique names "mail".*id, email/],
    ['order', () => loose({ ...users, list: { order: ['-mail'] } }), /order names "mail".*id, email/],
    ['timestamps', () => loose({ ...users, timestamps: { updated: 'at' } }), /timestamps names "at".*id, email/]
  ],
  FST_COLLECTION_UNFILLED_PROPERTY: [
    [
      'a required property that is readOnly',
      () => define({ ...users, schema: Type.Object({ id: uuid, email: Type.String({ readOnly: true }) }) }),
      /"email".*beforeValidation/
    ]
  ],
  FST_COLLECTION_UNSUPPORTED: [
    ['unique', () => define({ ...users, storage: without('unique'), unique: ['email'] }), /unique.*memory/],
    [
      'ids by the storage',
      () => define({ ...users, storage: without('generatedIds'), id: { generate: 'storage' } }),
      /id\.generate.*memory/
    ],
    [
      'an order by other properties',
      () => define({ ...users, storage: without('order'), list: { order: ['email'] } }),
      /order.*memory/
    ],
    ['filters', () => define({ ...users, storage: without('filter'), list: { filter: ['email'] } }), /filters.*memory/],
    ['a search', () => define({ ...users, storage: without('search'), list: { search: ['email'] } }), /search.*memory/]
  ],
  FST_COLLECTION_BAD_STORAGE: [
    [
      'a storage that was not called',
      () => loose({ ...users, storage: memory }),
      /^Collection users: storage returns a function.*Call it.*memory\(\)/
    ],
    [
      'a storage that is none',
      () => loose({ ...users, storage: 'postgres://user:secret@db/app' }),
      /^Collection users: storage is a string\. .*memory\(\)/
    ],
    [
      'the storage itself',
      () => loose({ ...users, storage: define(users).storage }),
      /storage is an object\. It must be what a storage function returns/
    ],
    ['null', () => loose({ ...users, storage: null }), /storage is null/],
    [
      'a function that returns nothing',
      () => loose({ ...users, storage: () => {} }),
      /returns undefined.*list, find, insert, replace, remove/
    ],
    [
      'a function that returns a promise',
      () => loose({ ...users, storage: async () => define(users).storage }),
      /returns a promise/
    ],
    [
      'a function that returns a client',
      () => loose({ ...users, storage: () => new Map() }),
      /has no list, find, insert, replace, remove, name, supports\. .*contract/
    ],
    [
      'verbs that are missing',
      () =>
        define({ ...users, storage: (shape) => ({ ...memory()(shape), remove: undefined, list: undefined }) as never }),
      /has no list, remove\./
    ],
    [
      'transactions that are missing',
      () => define({ ...users, storage: (shape) => ({ ...memory()(shape), transaction: undefined }) as never }),
      /has no transaction\./
    ],
    [
      'receipts that are missing',
      () => define({ ...users, storage: (shape) => ({ ...memory()(shape), receipts: undefined }) as never }),
      /has no receipts\./
    ],
    [
      'a path instead of a database',
      () => sqlite('app.db' as never),
      /^sqlite\(\) was given a string\. .*DatabaseSync/
    ],
    [
      'a URL instead of a pool of pg',
      () => postgres('postgres://user:secret@db/app' as never),
      /^postgres\(\) was given a string\. .*pg\.Pool/
    ],
    [
      'a URL instead of a pool of mysql2',
      () => mysql('mysql://user:secret@db/app' as never),
      /^mysql\(\) was given a string\. .*mysql2\/promise/
    ]
  ],
  FST_COLLECTION_BAD_TABLE: [
    [
      'a storage that finds a mistake when the app starts',
      () =>
        start({
          async check () {
            return ['the table is locked. Unlock it.']
          }
        }),
      /^Collection users: the table is locked\. Unlock it\.$/
    ]
  ],
  FST_COLLECTION_DUPLICATE_PATH: [['one collection twice', twice, /already serves GET \/users.*prefix/]],
  FST_COLLECTION_BAD_BATCH: [
    [
      'a batch of a collection that the app does not serve',
      () => Fastify().register(batch, { collections: [define(users)] }).ready(),
      /^Batch: this app does not serve the collection users\. Register it/
    ]
  ],
  FST_COLLECTION_BAD_MCP: [
    [
      'an agent that could do something twice',
      () => {
        const definition = define(users)
        return Fastify().register(collection, definition).register(mcp, { collections: [definition] }).ready()
      },
      /^MCP: an agent that repeats create of users would do it twice.*Add the feature idempotency\(\)/
    ]
  ],
  FST_COLLECTION_AUDIT: [
    [
      'an app whose CORS keeps browsers out, with a strict audit',
      async () => {
        const app = Fastify()
        t.teardown(() => app.close().catch(() => {}))
        await app.register(cors, { origin: '*' })
        await app.register(collection, define(users))
        await app.register(service, { audit: { strict: true } })
        await app.ready()
      },
      /AUDIT_CORS_METHODS: \/users: .*PUT.*corsOptions/
    ]
  ],
  FST_COLLECTION_BAD_SERVICE: [
    ['an option of the service that does not exist', () => serve({ hom: '/' }), /"hom".*home, title/],
    ['a home that is no path', () => serve({ home: 'home' }), /home is "home".*begins with "\/", or false/],
    ['errors of the app that are no boolean', () => serve({ appErrors: '/errors' }), /true or false/],
    ['a title that is no text', () => serve({ title: 5 }), /title is 5.*a string/],
    ['problems of the service without an absolute URI', () => serve({ problems: '/problems/' }), /absolute URI/],
    ['a prefix, which a wrapped plugin does not have', () => serve({ prefix: '/v1' }), /"prefix"/],
    ['a part of health that does not exist', () => serve({ health: { path: '/' } }), /"health\.path".*health\.live/],
    [
      'a part of audit that does not exist',
      () => serve({ audit: { level: 'warn' } }),
      /"audit\.level".*audit\.strict/
    ],
    ['an option of Fastify', () => serve({ requestTimeout: 5 }), /"requestTimeout"\. Pass it to Fastify, as in Fastify\(serverOptions/],
    [
      'the service below a prefix',
      () =>
        Fastify()
          .register(
            async (scope) => {
              await scope.register(service)
            },
            { prefix: '/v1' }
          )
          .then(() => {}),
      /below \/v1.*at the root/
    ],
    [
      'a home where the app has one',
      () =>
        serve({ home: '/' }, (app) => {
          app.get('/', async () => 'own')
        }),
      /already serves GET \/\..*false/
    ]
  ]
}

const codes = Object.values(errors)
  .map((CollectionError) => new CollectionError('', '', '').code)
  .sort()

test('every error of lib/errors/errors.ts has a test case', async (t) => {
  t.same(Object.keys(mistakes).sort(), codes)
})

for (const [code, cases] of Object.entries(mistakes)) {
  for (const [what, provoke, names] of cases) {
    test(`${what}: ${code} with a message that states the fix`, async (t) => {
      await t.rejects((async () => provoke())(), { code, message: names })
    })
  }
}

test('docs/errors.md lists every error of lib/errors/errors.ts, and no others', async (t) => {
  const page = readFileSync(new URL('../docs/errors.md', import.meta.url), 'utf8')
  t.same([...page.matchAll(/^\| `(FST_COLLECTION_\w+)` \|/gm)].map((match) => match[1]).sort(), codes)
})
