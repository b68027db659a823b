import { createServer } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import sensible from '@fastify/sensible'
import { test } from 'tap'
import Fastify from 'fastify'
import { Type } from '@sinclair/typebox'
import collection, { define, json, Problem, problem } from '../../../lib/index.ts'
import { registry } from '../../../lib/app/registry.ts'
import { Malformed } from '../../../lib/formats/index.ts'
import type { RouteOptions } from '../../../lib/index.ts'
import type { Format } from '../../../lib/formats/index.ts'
import type { Context } from '../../../lib/storage/index.ts'
import { memory } from '../../../lib/storage/memory.ts'
import { ada, build, created, gate, logged, modified, notes, request, users } from '../../app.ts'
import { listen, Wire } from '../../wire.ts'

const internalError = 'The request failed because of an error in the server. Repeat it later, or report it.'

// Features of Fastify around a collection: prefix, route options, hooks, errors, logs, signals.

test('Location, links and problems contain the prefix, also with a parameter', async (t) => {
  const app = await build(t, [])
  const definition = notes()
  await app.register(collection, { ...definition, prefix: '/v1' })
  await app.register(
    async (scope) => {
      scope.addHook('preHandler', async (request, reply) => {
        reply.header('x-team', (request.params as { team: string }).team)
      })
      await scope.register(collection, notes())
    },
    { prefix: '/teams/:team' }
  )
  for (const base of ['/v1', '/teams/a%20b']) {
    const { at } = await created(app, `${base}/notes`, { text: 'a' })
    t.ok(at.startsWith(`${base}/notes/`))
    const read = await request(app, `GET ${at}`, { fields: { accept: 'application/hal+json' } })
    t.strictSame(read.json()._links, { self: { href: at }, collection: { href: `${base}/notes` } })
    t.equal(read.headers['x-team'], base === '/v1' ? undefined : 'a b')
    t.equal((await request(app, `GET ${at}x`)).json().instance, `${at}x`)
    t.equal((await request(app, `POST ${at}`)).statusCode, 405)
    const long = await request(app, `GET ${base}/notes/${'x'.repeat(101)}`)
    t.equal(long.statusCode, 404)
    t.equal(long.headers['content-type'], 'application/problem+json', 'ids over 100 characters still reach the route')
  }
  t.equal((await request(app, 'GET /notes')).statusCode, 404)
  t.equal((await request(app, 'GET /notes')).headers['content-type'], 'application/json; charset=utf-8')
})

test('a parameter of the prefix can be named id', async (t) => {
  const app = await build(t, [])
  const Page = Type.Object({ slug: Type.String({ minLength: 1 }), title: Type.String() })
  await app.register(collection, {
    ...define({ name: 'pages', schema: Page, storage: memory(), id: { property: 'slug', generate: 'client' } }),
    prefix: '/sites/:id'
  })
  for (const slug of ['short', 'x'.repeat(150)]) {
    const { at } = await created(app, '/sites/7/pages', { slug, title: 't' })
    t.equal(at, `/sites/7/pages/${slug}`)
    t.equal((await request(app, `GET ${at}`)).json().slug, slug)
    t.equal((await request(app, `GET ${at}/deeper`)).statusCode, 404)
  }
})

test('one definition can be registered under several prefixes with one storage', async (t) => {
  const app = await build(t, [])
  const definition = notes()
  for (const prefix of ['/a', '/b']) await app.register(collection, { ...definition, prefix })
  const { at, item } = await created(app, '/a/notes', { text: 'a' })
  t.strictSame((await request(app, `GET ${at.replace('/a/', '/b/')}`)).json(), item)
  for (const base of ['/a', '/b', '/a']) {
    t.equal(
      (await request(app, `GET ${base}/notes/${item.id}`, { fields: { accept: 'application/hal+json' } })).json()._links
        .collection.href,
      `${base}/notes`
    )
  }
})

test('the registry lists every collection, wherever and in whatever order they are registered', async (t) => {
  const app = await build(t, [])
  await app.register(collection, users())
  await app.register(registry)
  await app.register(
    async (scope) => {
      await scope.register(collection, notes())
    },
    { prefix: '/v1' }
  )
  t.strictSame(
    app.collections.map(({ path, collection }) => [path, collection.name]),
    [
      ['/users', 'users'],
      ['/v1/notes', 'notes']
    ]
  )
})

test('two collections on one path fail at boot, and other errors are passed on unchanged', async (t) => {
  const app = await build(t, users())
  await t.rejects(
    async () => {
      await app.register(collection, users())
    },
    { code: 'FST_COLLECTION_DUPLICATE_PATH', message: /\/users/ }
  )
  const other = Fastify()
  t.teardown(() => other.close().catch(() => {}))
  await t.rejects(
    async () => {
      await other.register(
        collection,
        users({ routes: { list: { onRequest: 'no function' } as unknown as RouteOptions } })
      )
    },
    { code: /^FST_ERR_/ }
  )
})

test('register without a definition fails at boot', async (t) => {
  for (const given of [undefined, {}, { name: 'x' }, { storage: {} }]) {
    const app = Fastify()
    await t.rejects(
      async () => {
        await app.register(collection, given as never)
      },
      { code: 'FST_COLLECTION_NO_DEFINITION' }
    )
  }
})

test('Fastify route options apply to all actions or to one, and hooks are combined', async (t) => {
  const seen: string[] = []
  const mark = (name: string) => async () => {
    seen.push(name)
  }
  const app = await build(
    t,
    notes({
      routes: {
        all: {
          onRequest: mark('every'),
          preHandler: [mark('first'), mark('second')],
          config: { area: 'x' } as never,
          bodyLimit: 50
        },
        list: {
          onRequest: mark('list'),
          logLevel: 'error',
          onSend: async (_request, reply) => {
            reply.header('x-area', (reply.routeOptions.config as unknown as { area: string }).area)
          }
        },
        create: { bodyLimit: 200, preHandler: mark('create'), config: { area: 'y' } as never }
      }
    })
  )
  const list = await request(app, 'GET /notes')
  t.strictSame(seen.splice(0), ['every', 'list', 'first', 'second'])
  t.equal(list.headers['x-area'], 'x')
  const { at } = await created(app, '/notes', { text: 'x'.repeat(100) })
  t.strictSame(seen.splice(0), ['every', 'first', 'second', 'create'])
  const large = await request(app, `PUT ${at}`, { content: { text: 'x'.repeat(100) } })
  t.equal(large.statusCode, 413)
  t.match(large.json(), { status: 413, title: 'Content Too Large', code: 'content-too-large' })
  t.equal(large.headers['content-type'], 'application/problem+json')
  seen.splice(0)
  await request(app, 'OPTIONS /notes')
  await request(app, 'PATCH /notes')
  t.strictSame(seen, [], 'OPTIONS and 405 require no credentials')
})

test('constraints serve one URI by version and by host', async (t) => {
  const app = await build(t, [])
  await app.register(collection, notes({ routes: { all: { constraints: { version: '1.0.0' } } } }))
  await app.register(collection, notes({ routes: { all: { constraints: { version: '2.0.0' } } }, actions: ['list'] }))
  await app.register(collection, users({ routes: { all: { constraints: { host: 'a.example' } } } }))
  await app.register(collection, users({ routes: { all: { constraints: { host: 'b.example' } } } }))
  const { at } = await request(app, 'POST /notes', { content: { text: 'a' }, fields: { 'accept-version': '1.x' } }).then(
    ({ headers }) => ({ at: headers.location })
  )
  t.equal((await request(app, `GET ${at}`, { fields: { 'accept-version': '1.0.0' } })).statusCode, 200)
  t.equal((await request(app, 'GET /notes', { fields: { 'accept-version': '2.0.0' } })).payload, '[]')
  t.equal((await request(app, 'POST /notes', { content: {}, fields: { 'accept-version': '2.0.0' } })).statusCode, 405)
  t.equal(
    (await request(app, 'OPTIONS /notes', { fields: { 'accept-version': '2.0.0' } })).headers.allow,
    'GET, HEAD, QUERY, OPTIONS'
  )
  const { headers: { etag } } = await request(app, `GET ${at}`, { fields: { 'accept-version': '1.x' } })
  for (const [target, status, fields] of [
    [`GET ${at}`, 304, { 'if-none-match': String(etag) }],
    ['GET /notes', 200, {}],
    ['HEAD /notes', 200, {}],
    ['OPTIONS /notes', 204, {}],
    ['DELETE /notes', 405, {}],
    [`OPTIONS ${at}`, 204, {}],
    [`POST ${at}`, 405, {}],
    [`GET /notes/${'x'.repeat(200)}`, 404, {}],
    ['GET /notes?x=1', 400, {}],
    ['POST /notes', 400, { 'content-type': 'application/json' }]
  ] as const) {
    const answer = await request(app, target, { fields: { 'accept-version': '1.x', ...fields } })
    t.equal(answer.statusCode, status, target)
    t.match(answer.headers.vary, /\bAccept-Version\b/, target)
    t.match(answer.headers.vary, /\bAccept\b/, target)
  }
  t.equal((await request(app, 'GET /notes', { fields: { 'accept-version': '3.x' } })).statusCode, 404)
  t.equal((await request(app, 'GET /notes')).statusCode, 404, 'without the header, no version is selected')
  t.equal((await request(app, 'POST /users', { content: ada, fields: { host: 'a.example' } })).statusCode, 201)
  t.equal((await request(app, 'GET /users', { fields: { host: 'a.example' } })).json().length, 1)
  t.equal((await request(app, 'GET /users', { fields: { host: 'b.example' } })).json().length, 0)
})

test('links are correct with ignored slashes and absolute request targets (RFC 9112, section 3.2.2)', async (t) => {
  const app = Fastify({
    routerOptions: { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, caseSensitive: false }
  })
  t.teardown(() => app.close())
  await app.register(collection, { ...notes(), prefix: '/v1' })
  const wire = new Wire(await listen(app))
  t.teardown(() => wire.close())
  for (const target of [
    '/v1/notes',
    '/v1/notes/',
    '//v1//notes',
    '/V1/Notes',
    'http://other.example/v1/notes',
    'http://other.example:81/v1/notes/'
  ]) {
    const posted = await wire.ask(
      [`POST ${target}`, 'Content-Type: application/json', 'Accept: application/hal+json'],
      '{"text":"a"}'
    )
    t.equal(posted.status, 201, target)
    t.match(posted.fields.location, /^\/v1\/+notes\/[\w-]+$/i, target)
    t.equal((await wire.ask(`GET ${posted.fields.location}`)).status, 200, 'Location can be read')
    const { _links } = JSON.parse(
      (await wire.ask([`GET ${posted.fields.location}/`, 'Accept: application/hal+json'])).content.toString()
    )
    t.equal(_links.self.href, posted.fields.location)
    t.equal((await wire.ask(`GET ${_links.collection.href}`)).status, 200)
    const first = await wire.ask(`GET ${target}?limit=1`)
    for (const [, href] of String(first.fields.link ?? '').matchAll(/<([^>]*)>/g)) {
      t.equal((await wire.ask(`GET ${href}`)).status, 200)
    }
  }
})

test('an error of a hook, of the app or of the definition is a problem with its status (RFC 9457)', async (t) => {
  /** A sentence that reveals nothing about the cause. */
  const plain = /^[A-Z](?!.*secret).*\.$/
  const thrown: ReadonlyArray<
    readonly [what: string, value: unknown, status: number, expected?: object, fields?: object]
  > = [
    [
      'statusCode',
      Object.assign(new Error('No entry'), { statusCode: 403 }),
      403,
      { code: 'forbidden', detail: 'No entry', title: 'Forbidden' }
    ],
    [
      'status',
      Object.assign(new Error('Pay first'), { status: 402 }),
      402,
      { detail: 'Pay first', title: 'Payment Required' }
    ],
    [
      'headers',
      Object.assign(new Error('Who?'), { statusCode: 401, headers: { 'WWW-Authenticate': 'Bearer' } }),
      401,
      { code: 'unauthenticated' },
      { 'www-authenticate': 'Bearer' }
    ],
    [
      'fields of other content',
      Object.assign(new Error('x'), {
        statusCode: 400,
        headers: {
          'Content-Type': 'text/html',
          'content-length': '1',
          'Transfer-Encoding': 'chunked',
          'content-encoding': 'gzip',
          'retry-after': 5
        }
      }),
      400,
      { detail: 'x' },
      { 'content-type': 'application/problem+json', 'content-encoding': undefined, 'retry-after': '5' }
    ],
    ['headers that are none', Object.assign(new Error('x'), { statusCode: 400, headers: 'x' }), 400, { detail: 'x' }],
    ['a plain error', new Error('secret of the driver'), 500, { title: 'Internal Server Error', detail: plain }],
    [
      '5xx with a message',
      Object.assign(new Error('secret'), { statusCode: 502 }),
      502,
      { title: 'Bad Gateway', detail: plain, code: undefined }
    ],
    [
      '503',
      Object.assign(new Error('secret'), { statusCode: 503 }),
      503,
      { detail: plain },
      { 'retry-after': '1' }
    ],
    [
      '503 with its own field',
      Object.assign(new Error('secret'), { statusCode: 503, headers: { 'Retry-After': '30' } }),
      503,
      {},
      { 'retry-after': '30' }
    ],
    ['a status that is none', Object.assign(new Error('secret'), { statusCode: 200 }), 500, { detail: plain }],
    ['a status beyond', Object.assign(new Error('secret'), { statusCode: 999 }), 500],
    ['a status between two', Object.assign(new Error('secret'), { statusCode: 400.5 }), 500],
    [
      'a status that cannot be looked at',
      Object.defineProperty(new Error('x'), 'statusCode', {
        get () {
          throw new Error('secret')
        }
      }),
      500,
      { code: 'internal-error' }
    ],
    [
      'a message that cannot be looked at',
      {
        statusCode: 400,
        get message () {
          throw new Error('secret')
        }
      },
      500,
      { code: 'internal-error' }
    ],
    [
      'headers that cannot be sent',
      Object.assign(new Error('x'), {
        statusCode: 400,
        headers: { 'x y': '1', 'x-z': 'a\r\nx-secret: 1', 'retry-after': 5 }
      }),
      400,
      { detail: 'x' },
      { 'x-z': undefined, 'retry-after': '5' }
    ],
    [
      'headers that are no text',
      Object.assign(new Error('secret'), { statusCode: 400, headers: { 'x-z': Object.create(null) } }),
      500
    ],
    [
      'a problem that cannot be written',
      problem('forbidden', { detail: 'secret', properties: { n: 5n } }),
      500,
      { code: 'internal-error' }
    ],
    ['an unknown 4xx', Object.assign(new Error('odd'), { statusCode: 499 }), 499, { title: 'Unknown', detail: 'odd' }],
    ['a string', 'secret', 500, { detail: plain }],
    ['nothing', undefined, 500],
    ['null', null, 500],
    ['an object with a status', { statusCode: 418, message: 7 }, 418, { title: "I'm a Teapot", detail: plain }],
    [
      'a problem of ours',
      problem('forbidden', { detail: 'Not you', properties: { who: 'you' } }),
      403,
      { detail: 'Not you', who: 'you' }
    ],
    [
      'a problem of one’s own',
      new Problem(451, undefined, { detail: 'Censored' }),
      451,
      { detail: 'Censored', title: 'Unavailable For Legal Reasons' }
    ]
  ]
  for (const [what, value, status, expected = {}, fields = {}] of thrown) {
    const ways: ReadonlyArray<readonly [string, RouteOptions]> = [
      [
        'async onRequest',
        {
          onRequest: async () => {
            throw value
          }
        }
      ],
      [
        'async preHandler',
        {
          preHandler: async () => {
            throw value
          }
        }
      ],
      [
        'preHandler that calls back',
        { preHandler: (_request, _reply, done) => done((value ?? new Error('none')) as Error) }
      ],
      [
        'onRequest that throws at once',
        {
          onRequest: () => {
            throw value
          }
        }
      ]
    ]
    for (const [way, list] of ways) {
      if (way.endsWith('at once') && value == null) continue
      const app = await build(t, notes({ routes: { list } }))
      const answer = await request(app, 'GET /notes')
      t.equal(answer.statusCode, status, `${what} by ${way}`)
      t.match(answer.headers, { 'content-type': 'application/problem+json', ...fields })
      t.match(answer.json(), { status, type: 'about:blank', instance: '/notes', ...expected })
      t.notMatch(answer.payload, /secret/)
      t.equal(answer.headers['content-length'], String(Buffer.byteLength(answer.payload)))
    }
    const seen: unknown[] = []
    const writing = await build(
      t,
      notes({
        hooks: {
          beforeValidation: () => {
            throw value
          }
        },
        routes: {
          create: {
            onError: async (_request, _reply, error) => {
              seen.push(error)
            }
          }
        }
      })
    )
    const refused = await request(writing, 'POST /notes', { content: { text: 'a' } })
    t.equal(refused.statusCode, status, `${what} by prepare`)
    t.match(refused.headers, { 'content-type': 'application/problem+json', ...fields })
    t.match(refused.json(), { status, type: 'about:blank', instance: '/notes', ...expected })
    t.notMatch(refused.payload, /secret/)
    t.ok(seen.length === 1 && seen[0] === value, 'the onError hooks of the app receive the thrown value')
    t.strictSame((await request(writing, 'GET /notes')).json(), [])
    const app = await build(t, [])
    app.addHook('onRequest', async () => {
      throw value
    })
    app.setErrorHandler(async () => 'rewritten')
    await app.register(collection, notes())
    const answer = await request(app, 'GET /notes')
    t.equal(answer.statusCode, status, `${what} by the app`)
    t.equal(answer.headers['content-type'], 'application/problem+json')
  }
})

test('httpErrors become problems if @fastify/sensible is registered before, after or not at all', async (t) => {
  for (const when of ['before', 'after', 'never']) {
    const app = await build(t, [])
    if (when === 'before') await app.register(sensible)
    await app.register(
      collection,
      notes({
        hooks: {
          beforeValidation: ({ request, item }) => {
            if (item.text === 'teapot') throw request?.server.httpErrors.imateapot('short')
            if (item.text === 'no') throw request?.server.httpErrors.forbidden('never say no')
            return item
          }
        }
      })
    )
    if (when === 'after') await app.register(sensible)
    const tea = await request(app, 'POST /notes', { content: { text: 'teapot' } })
    t.equal(tea.statusCode, 418, when)
    t.match(tea.json(), { status: 418, detail: 'short' })
    t.match((await request(app, 'POST /notes', { content: { text: 'no' } })).json(), {
      status: 403,
      detail: 'never say no',
      code: 'forbidden'
    })
    t.equal((await request(app, 'POST /notes', { content: { text: 'yes' } })).statusCode, 201)
    t.equal((await request(app, 'GET /notes')).json().length, 1, 'an error thrown in the hook refuses the write')
  }
})

test('a status that a hook sets before it throws is kept', async (t) => {
  const app = await build(
    t,
    notes({
      routes: {
        list: {
          preHandler: async (_request, reply) => {
            reply.code(403)
            throw new Error('closed')
          }
        }
      }
    })
  )
  t.match((await request(app, 'GET /notes')).json(), { status: 403, detail: 'closed' })
})

test('a hook can send its own response', async (t) => {
  const app = await build(
    t,
    notes({ routes: { list: { preHandler: async (_request, reply) => reply.code(202).send({ own: true }) } } })
  )
  const answer = await request(app, 'GET /notes')
  t.equal(answer.statusCode, 202)
  t.match(answer.payload, 'own')
  const other = await build(
    t,
    notes({ routes: { list: { preHandler: async (_request, reply) => reply.send({ own: true }) } } })
  )
  t.equal((await request(other, 'GET /notes')).payload, '{"own":true}', 'also with a status of the library')
})

test('a problem has no headers of the response that an onSend hook rejected', async (t) => {
  let fails = true
  const onSend = async () => {
    fails = !fails
    if (!fails) throw new Error('secret')
  }
  const app = await build(t, users({ cache: 'max-age=60', routes: { all: { onSend } } }))
  for (const target of ['POST /users', 'GET /users', 'HEAD /users']) {
    const answer = await request(app, target, {
      fields: { prefer: 'return=representation' },
      content: target.startsWith('P') ? ada : undefined
    })
    t.equal(answer.statusCode, 500, target)
    t.equal(answer.headers['cache-control'], 'no-store')
    t.equal(answer.headers['content-type'], 'application/problem+json')
    for (const field of [
      'etag',
      'last-modified',
      'location',
      'content-location',
      'preference-applied',
      'cache-groups',
      'cache-group-invalidation'
    ]) {
      t.notOk(field in answer.headers, field)
    }
  }
})

test('a storage error returns a bare 500 without details, and logs the cause once', async (t) => {
  const faults: Record<string, () => unknown> = {
    plain: () => Object.assign(new Error('SELECT secret FROM users'), { code: '42P01', path: '/var/secret' }),
    'with a status of its own': () =>
      Object.assign(new Error('secret index'), { statusCode: 404, headers: { 'x-secret': '1' } }),
    'no error at all': () => 'secret'
  }
  for (const [what, fault] of Object.entries(faults)) {
    for (const verb of ['list', 'find', 'insert', 'replace', 'remove'] as const) {
      const { lines, logger } = logged()
      let broken = false
      const definition = notes({
        storage: modified((storage) => ({
          [verb]: async (...given: never[]) => {
            if (broken) throw fault()
            return (storage[verb] as (...given: never[]) => Promise<unknown>)(...given)
          }
        }))
      })
      const app = await build(t, definition, { logger })
      const { at } = await created(app, '/notes', { text: 'a' })
      broken = true
      const target = {
        list: 'GET /notes',
        find: `GET ${at}`,
        insert: 'POST /notes',
        replace: `PUT ${at}`,
        remove: `DELETE ${at}`
      }[verb]
      const answer = await request(app, target, { content: target.startsWith('P') ? { text: 'b' } : undefined })
      t.equal(answer.statusCode, 500, `${what} of ${verb}`)
      t.strictSame(answer.json(), {
        type: 'about:blank',
        title: 'Internal Server Error',
        status: 500,
        detail: internalError,
        instance: target.split(' ')[1],
        code: 'internal-error'
      })
      t.notMatch(JSON.stringify(answer.headers), /secret/)
      t.equal(lines.length, 1, 'one log line')
      t.match(JSON.stringify(lines[0]), /secret/)
      broken = false
      t.equal((await request(app, 'GET /notes')).json().length, 1)
    }
  }
})

test('an unreachable storage returns 503 with Retry-After (RFC 9110, section 15.6.4)', async (t) => {
  for (const [retryAfter, seconds] of [
    [undefined, '1'],
    [7, '7'],
    [0.2, '1'],
    ['x', '1'],
    [NaN, '1'],
    [-5, '1'],
    [Infinity, '1']
  ] as const) {
    const { lines, logger } = logged()
    const app = await build(
      t,
      notes({
        storage: modified(() => ({
          list: async () => {
            throw Object.assign(new Error('10.0.0.1 refused'), { unreachable: true, retryAfter })
          }
        }))
      }),
      { logger }
    )
    const answer = await request(app, 'GET /notes')
    t.equal(answer.statusCode, 503)
    t.equal(answer.headers['retry-after'], seconds)
    t.strictSame(answer.json(), {
      type: 'about:blank',
      title: 'Service Unavailable',
      status: 503,
      detail: 'The database of the server does not respond. ' +
        'Repeat the request after the time in the header Retry-After.',
      instance: '/notes',
      code: 'storage-unavailable'
    })
    t.equal(lines.length, 1)
  }
})

test('an error thrown by beforeValidation rejects the write, with its own status if it has one', async (t) => {
  for (const [thrown, status, detail] of [
    [Object.assign(new Error('Pay first'), { statusCode: 402 }), 402, 'Pay first'],
    [problem('conflict', { detail: 'Not now' }), 409, 'Not now'],
    [Object.assign(new Error('secret'), { statusCode: 502 }), 502, 'The server responded with 502 (Bad Gateway).'],
    [new Error('secret'), 500, internalError],
    ['secret', 500, internalError],
    [undefined, 500, internalError],
    [null, 500, internalError]
  ] as const) {
    for (const prepare of [
      () => {
        throw thrown
      },
      async () => {
        throw thrown
      }
    ]) {
      const { lines, logger } = logged()
      const app = await build(t, notes({ hooks: { beforeValidation: prepare } }), { logger })
      const answer = await request(app, 'POST /notes', { content: { text: 'a' } })
      t.equal(answer.statusCode, status, String(thrown))
      t.equal(answer.headers['content-type'], 'application/problem+json')
      t.equal(answer.json().detail, detail)
      t.notMatch(answer.payload, /secret/)
      t.equal(lines.length, status < 500 ? 0 : 1)
      t.equal((await request(app, 'GET /notes')).payload, '[]')
    }
  }
})

test('a custom format returns 400 for content that it cannot parse, and 500 if it fails', async (t) => {
  const { lines, logger } = logged()
  const csv: Format = {
    name: 'csv',
    mediaType: 'text/csv',
    parse (content) {
      const text = content.toString()
      if (text === 'bug') throw new Error('secret')
      if (!text.startsWith('text\n')) throw new Malformed('The first line is not "text".')
      return { text: text.slice(5) }
    },
    item: (item) => `id,text\n${Object.values(item).join()}\n`,
    list: (items) => `id,text\n${items.map((item) => Object.values(item).join()).join('\n')}`,
    describe: () => ({ type: 'string' })
  }
  const app = await build(t, notes({ formats: [json, csv] }), { logger })
  const posted = await request(app, 'POST /notes', {
    content: 'text\nhello',
    type: 'text/csv; header=present',
    fields: { accept: 'text/csv' }
  })
  t.equal(posted.statusCode, 201)
  t.equal(posted.headers['content-type'], 'text/csv')
  t.match(posted.payload, /^id,text\n[\w-]+,hello\n$/)
  t.match((await request(app, 'GET /notes', { fields: { accept: 'text/csv' } })).payload, /^id,text\n[\w-]+,hello$/)
  t.match((await request(app, 'POST /notes', { content: 'hello', type: 'text/csv' })).json(), {
    status: 400,
    code: 'malformed-content',
    detail: 'The first line is not "text".'
  })
  t.strictSame(lines, [])
  const failed = await request(app, 'POST /notes', { content: 'bug', type: 'text/csv' })
  t.equal(failed.statusCode, 500)
  t.notMatch(failed.payload, /secret/)
  t.equal(lines.length, 1)
  t.strictSame((await request(app, 'GET /notes', { fields: { accept: 'application/xml' } })).json().available, [
    'application/json',
    'text/csv',
    'application/vnd.fastify-collections.entries+json'
  ])
})

test('client errors are not logged as errors', async (t) => {
  const { lines, logger } = logged()
  const app = await build(t, notes(), { logger })
  for (const target of ['GET /notes/x', 'PATCH /notes', 'GET /notes?x=1']) await request(app, target)
  await request(app, 'POST /notes', { content: '{' })
  t.strictSame(lines, [])
})

test('an error thrown by afterCommit is logged and does not affect the response', async (t) => {
  const { lines, logger } = logged()
  const app = await build(
    t,
    notes({
      hooks: {
        afterCommit: ({ action }) => {
          throw new Error(`no ${action}`)
        }
      }
    }),
    { logger }
  )
  const { at } = await created(app, '/notes', { text: 'a' })
  t.equal((await request(app, `PUT ${at}`, { content: { text: 'b' } })).statusCode, 200)
  t.equal((await request(app, `PATCH ${at}`, { content: { text: 'c' } })).statusCode, 200)
  t.equal((await request(app, `DELETE ${at}`)).statusCode, 204)
  t.strictSame(
    lines.map(({ err }) => (err as Error).message),
    ['no create', 'no replace', 'no update', 'no remove']
  )
})

test('handlerTimeout returns 503 with Retry-After and aborts the signal of the storage', async (t) => {
  const aborted = gate()
  const app = await build(
    t,
    notes({
      routes: { all: { handlerTimeout: 50 } },
      storage: modified((storage) => ({
        async list (query, context) {
          context.signal.addEventListener('abort', aborted.open)
          await aborted.opened
          return storage.list(query, context)
        }
      }))
    })
  )
  const wire = new Wire(await listen(app))
  t.teardown(() => wire.close())
  const answer = await wire.ask('GET /notes')
  t.equal(answer.status, 503)
  t.equal(answer.fields['content-type'], 'application/problem+json')
  t.equal(answer.fields['retry-after'], '1')
  await aborted.opened
  t.equal((await wire.ask('OPTIONS /notes')).status, 204)
})

test('the signal of the storage aborts if the client disconnects, and not if the content is read', async (t) => {
  const calls: Array<{ verb: string; signal: AbortSignal }> = []
  let delay = 40
  const watched = modified((storage) =>
    Object.fromEntries(
      (['list', 'find', 'insert', 'replace', 'remove'] as const).map((verb) => [
        verb,
        async (...given: never[]) => {
          const { signal } = given.at(-1) as unknown as Context
          calls.push({ verb, signal })
          await wait(delay, undefined, { signal }).catch(() => {})
          return (storage[verb] as (...given: never[]) => Promise<unknown>)(...given).finally(() => {
            if (signal.aborted) calls.push({ verb: `${verb} aborted`, signal })
          })
        }
      ])
    )
  )
  for (const every of [{}, { handlerTimeout: 60_000 }] as RouteOptions[]) {
    const app = await build(t, notes({ routes: { all: every }, storage: watched }))
    const port = await listen(app)
    const wire = new Wire(port)
    t.teardown(() => wire.close())
    delay = 40
    calls.splice(0)
    const content = '{"text":"a"}'
    const posted = await wire.ask(['POST /notes', 'Content-Type: application/json'], content)
    const at = posted.fields.location
    for (const [head, changed] of [
      [`PUT ${at}`, '{"text":"b"}'],
      [`PATCH ${at}`, '{"text":"c"}']
    ] as const) {
      t.equal((await wire.ask([head, 'Content-Type: application/json'], changed)).status, 200)
    }
    for (const head of [`GET ${at}`, 'GET /notes', `HEAD ${at}`]) t.equal((await wire.ask(head)).status, 200)
    t.equal((await wire.ask([`DELETE ${at}`, 'If-Match: *'])).status, 204)
    t.strictSame(
      calls.splice(0).map(({ verb }) => verb),
      ['insert', 'find', 'replace', 'find', 'replace', 'find', 'list', 'find', 'find', 'remove'],
      'never aborted in normal requests'
    )
    const again = (await wire.ask(['POST /notes', 'Content-Type: application/json'], content)).fields.location
    delay = 60_000
    for (const method of ['GET', 'PUT', 'POST', 'DELETE']) {
      calls.splice(0)
      const leaving = new Wire(port)
      const head = `${method} ${method === 'POST' ? '/notes' : again}`
      if (method.startsWith('P')) {
        leaving.write([head, 'Content-Type: application/json', `Content-Length: ${content.length}`], content)
      } else leaving.write(head)
      while (calls.length === 0) await wait(5)
      t.equal(calls[0]?.signal.aborted, false)
      leaving.close()
      while (!calls[0]?.signal.aborted) await wait(5)
      t.ok(calls[0]?.signal.aborted, `${method} is aborted`)
    }
  }
})

test('a signal that is first read after the client has disconnected is aborted', async (t) => {
  const [arrived, gone] = [gate(), gate()]
  const looked = gate()
  const signals: AbortSignal[] = []
  const app = await build(
    t,
    notes({
      storage: modified((storage) => ({
        async list (query, context) {
          arrived.open()
          await gone.opened
          signals.push(context.signal)
          looked.open()
          return storage.list(query, context)
        }
      }))
    })
  )
  const ended = gate()
  const port = await listen(app)
  app.server.on('connection', (socket) => socket.on('close', ended.open))
  const wire = new Wire(port)
  wire.write('GET /notes')
  await arrived.opened
  wire.close()
  await ended.opened
  gone.open()
  await looked.opened
  t.equal(signals[0]?.aborted, true)
})

test('an app with a serverFactory works', async (t) => {
  const app = Fastify({ serverFactory: (handler) => createServer(handler) })
  t.teardown(() => app.close())
  await app.register(collection, notes())
  t.equal((await request(app, 'GET /notes')).statusCode, 200)
})
