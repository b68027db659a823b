import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyRequest } from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import collection, { define, problem } from '../../../lib/index.ts'
import type { Options } from '../../../lib/index.ts'
import { memory } from '../../../lib/storage/memory.ts'
import { action } from '../../../lib/features/action.ts'
import { idempotency } from '../../../lib/features/idempotency.ts'
import { bulk } from '../../../lib/features/bulk.ts'
import { relate } from '../../../lib/relations/relate.ts'
import { within } from '../../../lib/features/within.ts'
import { build, request } from '../../app.ts'

// `?expand=` and nested URLs read another collection, whose routes and their hooks are not those of the request.

const Person = Type.Object({ id: Type.Integer(), owner: Type.String({ default: 'ada' }), name: Type.String() })
const Article = Type.Object({ id: Type.Integer(), author: Type.Integer(), title: Type.String({ default: '' }) })
const items = [
  { id: 1, owner: 'ada', name: 'Ada' },
  { id: 2, owner: 'bob', name: 'Bob' }
]

const authenticate = async (request: FastifyRequest) => {
  if (request.headers.authorization !== 'Bearer ada') throw problem('unauthenticated')
}
const log = async () => {}

function people (options: Partial<Options<typeof Person>> = {}) {
  return define({ name: 'people', schema: Person, id: { generate: 'storage' }, storage: memory({ items }), ...options })
}

function articles (options: Partial<Options<typeof Article>> = {}) {
  return define({
    name: 'articles',
    schema: Article,
    id: { generate: 'storage' },
    storage: memory({ items: [{ id: 1, author: 1, title: 'Notes' }] }),
    ...options
  })
}

/** Starts an app in which articles lead to people. */
async function startRelated (t: Test, hooked: ReturnType<typeof people>, reader = articles()) {
  const related = relate(
    { people: hooked, articles: reader },
    { articles: { person: { to: 'people', property: 'author' } } }
  )
  return await (await build(t, Object.values(related))).ready()
}

const refused = { code: 'FST_COLLECTION_BAD_OPTION', message: /hooks/ }

for (const hook of ['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const) {
  test(`a collection with ${hook} hooks on its routes cannot be read through a collection without them`, async (t) => {
    for (const action of ['all', 'read'] as const) {
      for (const given of [authenticate, [log, authenticate]]) {
        const hooked = people({ routes: { [action]: { [hook]: given } } })
        await t.rejects(startRelated(t, hooked), refused, `relation, ${action}`)
        t.throws(() => articles().with(within(hooked, 'author')), refused, `nested, ${action}`)
      }
    }
    const unrelated = people({
      routes: {
        list: { [hook]: authenticate },
        create: { [hook]: authenticate },
        all: { onSend: async () => {}, onResponse: log }
      }
    })
    await t.resolves(startRelated(t, unrelated), 'hooks that do not protect reads')
    t.doesNotThrow(() => articles().with(within(unrelated, 'author')))
  })
}

test('the error message states how to fix it', async (t) => {
  const hooked = people({ routes: { all: { onRequest: authenticate } } })
  await t.rejects(startRelated(t, hooked), {
    message:
      'Collection articles: the relation "person" reads people, but the hooks in the routes of people do not run for it. ' +
      'State in access.allow.read of people who may read it ("public" means everyone), or add the same hooks to routes.all of articles.'
  })
  t.throws(() => articles().with(within(hooked, 'author')), {
    message:
      'Collection articles: within() reads people, but the hooks in the routes of people do not run for it. ' +
      'State in access.allow.read of people who may read it ("public" means everyone), or add the same hooks to routes.all of articles.'
  })
})

test('a collection with hooks can be expanded or nested if it has access rules for reading', async (t) => {
  const routes = { all: { onRequest: log } }
  const stated: Array<Partial<Options<typeof Person>>> = [
    { access: { allow: 'public' } },
    { access: { allow: { read: 'public' } } },
    { access: { allow: { all: () => false } } },
    { access: { authenticate: () => undefined, allow: { read: 'authenticated' } } }
  ]
  for (const options of stated) {
    const hooked = people({ routes, ...options })
    await t.resolves(startRelated(t, hooked))
    t.doesNotThrow(() => articles().with(within(hooked, 'author')))
  }
  const unstated: Array<Partial<Options<typeof Person>>> = [
    { access: { authenticate: () => undefined } },
    { access: { authenticate: () => undefined, allow: { remove: 'public' } } },
    { access: { allow: { remove: () => false } } },
    { access: { scope: () => ({ values: { owner: 'ada' } }) } },
    { access: { visible: { name: () => true } } }
  ]
  for (const options of unstated) {
    const hooked = people({ routes, ...options })
    await t.rejects(startRelated(t, hooked), refused)
    t.throws(() => articles().with(within(hooked, 'author')), refused)
  }
})

test('a collection with hooks can be expanded or nested by a collection with the same hooks', async (t) => {
  const hooked = people({ routes: { all: { onRequest: authenticate } } })
  const { people: persons, articles: both } = relate(
    { people: hooked, articles: articles({ routes: { all: { preHandler: [log, authenticate] } } }) },
    { articles: { person: { to: 'people', property: 'author' } } }
  )
  const app = await build(t, [
    persons,
    both,
    articles({ routes: { all: { onRequest: authenticate } } }).with(within(hooked, 'author'))
  ])
  for (const url of ['/people/1', '/articles?expand=person', '/articles/1?expand=person', '/people/1/articles']) {
    t.equal((await request(app, `GET ${url}`)).statusCode, 401, url)
    t.equal((await request(app, `GET ${url}`, { fields: { authorization: 'Bearer ada' } })).statusCode, 200, url)
  }
  const every = Object.fromEntries(
    ['list', 'create', 'read', 'replace', 'update', 'remove'].map((action) => [action, { onRequest: authenticate }])
  )
  await t.resolves(startRelated(t, hooked, articles({ routes: every })), 'a check for each action')
  const { create, ...some } = every
  await t.rejects(startRelated(t, hooked, articles({ routes: some })), refused, 'a check for some actions only')
  await t.resolves(
    startRelated(t, hooked, articles({ routes: some, actions: ['list', 'read'] })),
    'a check for every action that is served'
  )
})

/** All that a client can see of a response, except the URL of the target itself. */
function normalize ({ statusCode, headers: { date, ...headers }, body }: Awaited<ReturnType<typeof request>>): string {
  return JSON.stringify([statusCode, headers, body]).replace(/people\/\w+/g, 'people/_')
}

test('a nested URL does not reveal which parents exist to a caller who cannot read them', async (t) => {
  const authentication = {
    authenticate: ({ request }: { request: FastifyRequest }) => request.headers['x-user']?.toString()
  }
  const guards: Array<[who: string, user: string | undefined, options: Partial<Options<typeof Person>>]> = [
    ['anonymous', undefined, { access: { ...authentication } }],
    [
      'a caller without the right',
      'eve',
      { access: { ...authentication, allow: { all: 'authenticated', read: () => false } } }
    ],
    [
      'a caller from whom all is hidden',
      'eve',
      { access: { ...authentication, allow: { all: 'authenticated', read: () => 'hidden' } } }
    ],
    [
      'a caller with another scope',
      'eve',
      { access: { ...authentication, scope: ({ caller }) => ({ values: { owner: caller! } }) } }
    ],
    [
      'a caller whom a rule refuses with a problem',
      'eve',
      {
        access: {
          allow: () => {
            throw problem('forbidden')
          }
        }
      }
    ]
  ]
  for (const [who, user, options] of guards) {
    const parent = people(options)
    const child = articles().with(idempotency(), bulk())
    const app = await build(t, [parent, child.with(within(parent, 'author'))])
    const fields = user === undefined ? {} : { 'x-user': user }
    const requests: Array<[line: string, more?: object]> = [
      ['GET', {}],
      ['HEAD', {}],
      ['OPTIONS', {}],
      ['QUERY', { content: {} }],
      ['POST', { content: { title: 'x' } }],
      ['POST', { content: 'x' }],
      ['POST', { content: { title: 'x' }, fields: { 'if-match': '*' } }],
      ['POST', { content: [{ title: 'x' }] }],
      ['PUT', { content: {} }],
      ['POST', { content: { title: 'x' }, fields: { 'idempotency-key': '"k"' } }],
      ['POST', { content: '<x/>', type: 'text/plain' }],
      ['GET', { fields: { accept: 'image/png' } }],
      ['GET', { fields: { 'if-none-match': '*' } }],
      ['GET', { query: { colour: 'red' } }]
    ]
    for (const at of ['articles', 'articles/1']) {
      for (const [method, { fields: more, ...rest }] of requests as Array<
        [string, { fields?: Record<string, string> }]
      >) {
        const [there, missing] = await Promise.all(
          ['1', '9'].map(async (id) =>
            request(app, `${method} /people/${id}/${at}`, { ...rest, fields: { ...fields, ...more } })
          )
        )
        t.equal(
          normalize(there!),
          normalize(missing!),
          `${who}: ${method} ${at} ${JSON.stringify(rest)} ${JSON.stringify(more)}`
        )
        t.notOk(there!.statusCode < 300 && method !== 'OPTIONS')
      }
      for (const method of ['PUT', 'PATCH', 'DELETE']) {
        const [there, missing] = await Promise.all(
          ['1', '9'].map(async (id) =>
            request(app, `${method} /people/${id}/articles/1`, {
              ...(method !== 'DELETE' && { content: { title: 'x' } }),
              fields
            })
          )
        )
        t.equal(normalize(there!), normalize(missing!), `${who}: ${method}`)
        t.ok(there!.statusCode >= 400)
      }
    }
  }
})

test('hooks of the app run for every collection registered in it', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  app.addHook('onRequest', authenticate)
  const related = relate(
    { people: people(), articles: articles() },
    { articles: { person: { to: 'people', property: 'author' } } }
  )
  for (const each of Object.values(related)) await app.register(collection, each)
  t.equal((await request(app, 'GET /articles?expand=person')).statusCode, 401)
})

// A custom action has a route of its own: hooks of other actions do not run for it.

const cancel = (options: object = {}) => action('cancel', { run: () => {}, ...options })
const writes = (hook: string) => Object.fromEntries(
  ['create', 'replace', 'update', 'remove'].map((name) => [name, { [hook]: authenticate }])
)

for (const hook of ['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const) {
  test(`a custom action is refused at boot if ${hook} hooks protect only other actions`, async (t) => {
    for (const routes of [writes(hook), { remove: { [hook]: authenticate } }, { read: { [hook]: [log] } }]) {
      t.throws(() => articles({ routes }).with(cancel() as never), refused)
    }
    t.throws(
      () => articles({ routes: { ...writes(hook), all: { onRequest: log } } }).with(cancel() as never),
      refused,
      'a hook of all actions, and another one that protects every write'
    )
    t.throws(
      () => articles({ routes: { all: { [hook]: log }, update: { [hook]: authenticate } } }).with(cancel() as never),
      refused,
      'a hook of all actions, and another one that protects a few'
    )
    t.throws(
      () => articles({ actions: ['list', 'read'], routes: { all: { onRequest: log }, ...reads(hook) } })
        .with(cancel() as never),
      refused,
      'a collection whose items can only be read'
    )
    t.throws(() => articles({ routes: reads(hook) }).with(cancel({ safe: true }) as never), refused, 'a safe action')
  })

  test(`a custom action is accepted if the ${hook} hooks run for it, or if it states who may call it`, async (t) => {
    const routes = writes(hook)
    const accepted: Array<[why: string, options: Partial<Options<typeof Article>>, own?: object]> = [
      ['no hooks', {}],
      ['hooks of all actions', { routes: { all: { [hook]: authenticate } } }],
      ['the same hooks everywhere', { routes: { ...routes, all: { [hook]: authenticate } } }],
      ['a hook of the action', { routes }, { route: { onRequest: authenticate } }],
      ['a rule of the action', { routes }, { allow: 'public' }],
      ['a rule of the definition', { routes, access: { allow: 'public' } }],
      ['access.authenticate', { routes, access: { authenticate: () => undefined } }],
      ['hooks that refuse nothing', { routes: { remove: { onSend: async () => {}, onResponse: log } } }],
      ['an action that reads, as everyone may', { routes }, { safe: true }]
    ]
    for (const [why, options, own] of accepted) {
      t.doesNotThrow(() => articles(options).with(cancel(own) as never), why)
    }
  })
}

function reads (hook: string): object {
  return { list: { [hook]: authenticate }, read: { [hook]: authenticate } }
}

test('the error message about a custom action states how to fix it, and the fixes protect it', async (t) => {
  const routes = writes('onRequest')
  t.throws(() => articles({ routes }).with(cancel() as never), {
    message: 'Collection articles: ' +
      'the hooks in the routes of create, replace, update, remove do not run for the action "cancel". ' +
      'Move them to routes.all, add them to route of the action, ' +
      'or add allow to the action to state who may call it ("public" means everyone).'
  })
  for (const fixed of [
    articles({ routes: { all: { onRequest: authenticate } } }).with(cancel() as never),
    articles({ routes }).with(cancel({ route: { onRequest: authenticate } }) as never)
  ]) {
    const app = await build(t, fixed)
    t.equal((await request(app, 'POST /articles/1/cancel')).statusCode, 401)
    const authorized = await request(app, 'POST /articles/1/cancel', { fields: { authorization: 'Bearer ada' } })
    t.equal(authorized.statusCode, 200)
  }
})
