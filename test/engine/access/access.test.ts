import auth from '@fastify/auth'
import { idempotency } from '../../../lib/features/idempotency.ts'
import basicAuth from '@fastify/basic-auth'
import bearerAuth from '@fastify/bearer-auth'
import jwt from '@fastify/jwt'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyInstance, FastifyRequest, InjectOptions } from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import collection, { allowedActions, define, defineWith, problem } from '../../../lib/index.ts'
import type { AccessContext, AccessOptions, Definition, Options } from '../../../lib/index.ts'
import { relate } from '../../../lib/relations/relate.ts'
import { memory } from '../../../lib/storage/memory.ts'
import { bulk } from '../../../lib/features/bulk.ts'
import { within } from '../../../lib/features/within.ts'
import { created, logged, request } from '../../app.ts'

const Note = Type.Object({ id: Type.Integer(), text: Type.String() })
const items = [
  { id: 1, text: 'one' },
  { id: 2, text: 'two' }
]

/** Credentials that are a name; `mallory` has bad ones. */
const named: Pick<AccessOptions, 'authenticate' | 'challenge' | 'vary'> = {
  authenticate: async ({
    request: {
      headers: { authorization }
    }
  }) => {
    const [, name] = /^token (\w+)$/i.exec(authorization ?? '') ?? []
    if (name === 'mallory') throw new Error('the secret of mallory is not this')
    return name
  }
}

function notes (options: Partial<Options<typeof Note>> = {}): Definition {
  return defineWith({ access: named })({
    name: 'notes',
    schema: Note,
    id: { generate: 'storage' },
    storage: memory({ items }),
    ...options
  })
}

/** A collection without authentication. */
function open (name: string, options: Partial<Options<typeof Note>> = {}) {
  return define({ name, schema: Note, id: { generate: 'storage' }, storage: memory({ items }), ...options })
}

async function serve (
  t: Test,
  collections: Definition | readonly Definition[],
  prepare: (app: FastifyInstance) => void = () => {}
): Promise<FastifyInstance> {
  const app = Fastify()
  t.after(() => app.close())
  prepare(app)
  for (const each of [collections].flat()) await app.register(collection, each)
  return app
}

const as = (name: string): { fields: Record<string, string> } => ({ fields: { authorization: `token ${name}` } })

/** Every action. The content is invalid, because it is never read if the caller is refused. */
const requests: ReadonlyArray<readonly [method: InjectOptions['method'], url: string]> = [
  ['GET', '/notes'],
  ['HEAD', '/notes'],
  ['QUERY' as 'GET', '/notes'],
  ['POST', '/notes'],
  ['GET', '/notes/1'],
  ['HEAD', '/notes/1'],
  ['PUT', '/notes/1'],
  ['PATCH', '/notes/1'],
  ['DELETE', '/notes/1']
]

test('a request without a caller returns 401 before any other check (RFC 9110, section 15.5.2)', async (t) => {
  const app = await serve(t, notes())
  for (const [method, url] of requests) {
    for (const authorization of [undefined, 'token mallory', 'Basic bm9ib2R5']) {
      const answer = await app.inject({
        method: method!,
        url,
        headers: {
          'content-type': 'no/type',
          accept: 'no/type',
          'if-match': '"x"',
          ...(authorization && { authorization })
        },
        ...(method === 'GET' || method === 'HEAD' ? {} : { payload: '{{{' })
      })
      t.equal(answer.statusCode, 401, `${method} ${url} ${authorization}`)
      t.equal(answer.headers['www-authenticate'], 'Bearer')
      t.equal(answer.headers['cache-control'], 'no-store')
      t.equal(answer.headers['content-type'], 'application/problem+json')
      t.notMatch(answer.payload, /mallory/)
      if (method !== 'HEAD') t.equal(answer.json().code, 'unauthenticated')
    }
  }
  t.equal((await request(app, 'GET /notes', as('ada'))).json().length, 2)
  t.equal((await request(app, 'GET /notes', { fields: { authorization: 'TOKEN ada' } })).json().length, 2)
  t.equal((await request(app, 'DELETE /notes/1', as('ada'))).statusCode, 204)
})

test('an unsupported method returns 405 with the full Allow header (RFC 9110, section 15.5.6)', async (t) => {
  const app = await serve(t, notes({ access: { allow: { all: 'authenticated', list: 'public' } } }))
  const answer = await request(app, 'DELETE /notes')
  t.equal(answer.statusCode, 405)
  t.equal(answer.headers.allow, 'GET, HEAD, POST, QUERY, OPTIONS')
})

test('each action has its own access rule: public, authenticated or a predicate', async (t) => {
  const calls: unknown[] = []
  const app = await serve(
    t,
    notes({
      access: {
        allow: {
          all: 'authenticated',
          list: 'public',
          read: 'public',
          replace: ({ request, action, caller }: AccessContext) => {
            calls.push([request?.method, action, caller])
            return caller === 'ada'
          },
          update: async ({ caller }) => (caller === 'ada' ? true : 'hidden'),
          remove: ({ caller }) => caller === 'root'
        }
      }
    })
  )
  const content = { text: 'new' }
  const status = async (target: string, name?: string, given: unknown = content): Promise<number> =>
    (await request(app, target, { content: given, ...(name !== undefined && as(name)) })).statusCode
  t.equal((await request(app, 'GET /notes')).statusCode, 200)
  t.equal(
    (await request(app, 'GET /notes', as('mallory'))).statusCode,
    200,
    'bad credentials count as none if none are required'
  )
  t.equal((await request(app, 'QUERY /notes', { content: {} })).statusCode, 200, 'QUERY has the rule of the list')
  t.equal(await status('POST /notes'), 401)
  t.equal(await status('POST /notes', 'bob'), 201)
  t.equal(await status('PUT /notes/1'), 401)
  t.equal(await status('PUT /notes/1', 'bob'), 403)
  t.equal(await status('PUT /notes/1', 'ada'), 200)
  t.strictSame(calls, [
    ['PUT', 'replace', undefined],
    ['PUT', 'replace', 'bob'],
    ['PUT', 'replace', 'ada']
  ])
  t.equal(await status('PATCH /notes/1', 'mallory'), 401, 'a predicate is not called with bad credentials')
  t.equal(await status('PATCH /notes/1', 'bob'), 404)
  t.equal(await status('PATCH /notes/9', 'bob'), 404)
  t.strictSame(
    (await request(app, 'PATCH /notes/1', { content, ...as('bob') })).json(),
    (await request(app, 'PATCH /notes/1', { content, ...as('eve') })).json()
  )
  t.equal(await status('PATCH /notes/1', 'ada'), 200)
  t.equal((await request(app, 'DELETE /notes/1', as('ada'))).statusCode, 403)
  t.equal((await request(app, 'DELETE /notes/1', as('root'))).statusCode, 204)
})

test('a predicate allows access only if it returns true', async (t) => {
  for (const verdict of [undefined, null, 1, 'yes', {}]) {
    const app = await serve(t, notes({ access: { allow: () => verdict as boolean } }))
    t.equal((await request(app, 'GET /notes', as('ada'))).statusCode, 403, String(verdict))
  }
})

test('a predicate that throws denies access and responds with the status of the error', async (t) => {
  const { lines, logger } = logged()
  const app = Fastify({ logger })
  t.after(() => app.close())
  await app.register(
    collection,
    notes({
      access: {
        allow: {
          list: () => {
            throw problem('forbidden', { detail: 'Not on Sundays.' })
          },
          read: () => {
            throw new Error('the database is called prod-7')
          },
          create: () => {
            throw Object.assign(new Error('Later.'), { statusCode: 429 })
          }
        }
      }
    })
  )
  t.equal((await request(app, 'GET /notes', as('ada'))).json().detail, 'Not on Sundays.')
  const failed = await request(app, 'GET /notes/1', as('ada'))
  t.equal(failed.statusCode, 500)
  t.notMatch(failed.payload, /prod/)
  t.equal(lines.length, 1)
  t.equal((await request(app, 'POST /notes', { content: { text: '' }, ...as('ada') })).statusCode, 429)
})

test('authenticate runs once per request, before the content is read, and only for its own collection', async (t) => {
  let calls = 0
  const authentication: Pick<AccessOptions, 'authenticate' | 'challenge' | 'vary'> = {
    authenticate: ({ request }) => {
      calls++
      t.equal(request.body, undefined)
      return request.headers.authorization
    }
  }
  const other = open('others')
  const rule: NonNullable<AccessOptions['allow']> = { all: ({ caller }) => caller !== undefined }
  const app = await serve(t, [notes({ access: { ...authentication, allow: rule } }).with(bulk()), other])
  await request(app, 'POST /notes', { content: [{ text: 'a' }, { text: 'b' }], ...as('ada') })
  t.equal(calls, 1)
  await request(app, 'OPTIONS /notes', as('ada'))
  t.equal(calls, 2, 'although OPTIONS checks each action')
  await request(app, 'GET /others', as('ada'))
  t.equal(calls, 2)
  await request(app, 'TRACE /notes', as('ada'))
  t.equal(calls, 3, 'a rule could hide the collection, so 405 depends on the caller')
})

test('an error thrown by authenticate keeps its status, and an invalid caller returns 500', async (t) => {
  const failWith = (error: unknown): Pick<AccessOptions, 'authenticate' | 'challenge' | 'vary'> => ({
    authenticate: () => {
      throw error
    }
  })
  for (const [error, status, open] of [
    [Object.assign(new Error('Expired.'), { statusCode: 401 }), 401, 200],
    [Object.assign(new Error('What is this?'), { status: 400 }), 400, 200],
    [problem('forbidden'), 403, 200],
    ['nothing', 401, 200],
    [Object.assign(new Error('down'), { statusCode: 503 }), 503, 503]
  ] as const) {
    const app = await serve(t, notes({ access: { ...failWith(error), allow: { list: 'public' } } }))
    t.equal((await request(app, 'GET /notes/1')).statusCode, status)
    t.equal((await request(app, 'GET /notes')).statusCode, open)
  }
  for (const [id, status] of [
    ['', 401],
    [null, 401],
    [7, 500],
    [{}, 500]
  ] as const) {
    const app = await serve(t, notes({ access: { authenticate: () => id as string } }))
    t.equal((await request(app, 'GET /notes/1')).statusCode, status, JSON.stringify(id))
  }
})

test('401 sends the configured challenge and reports a rejected token (RFC 6750, section 3.1)', async (t) => {
  const getChallenge = async (options: Partial<Options<typeof Note>>, authorization?: string): Promise<unknown> =>
    (
      await request(
        await serve(t, notes(options)),
        'GET /notes',
        authorization === undefined ? {} : { fields: { authorization } }
      )
    ).headers['www-authenticate']
  const authenticate = named.authenticate!
  t.equal(await getChallenge({ access: { authenticate, challenge: 'Bearer realm="notes"' } }), 'Bearer realm="notes"')
  t.equal(
    await getChallenge({ access: { authenticate, challenge: 'Bearer realm="notes"' } }, 'bEARER stale'),
    'Bearer realm="notes", error="invalid_token"'
  )
  t.equal(await getChallenge({}, 'Bearer stale'), 'Bearer error="invalid_token"')
  t.equal(
    await getChallenge({ access: { authenticate, challenge: 'bearer' } }, 'Bearer'),
    'bearer error="invalid_token"'
  )
  t.equal(
    await getChallenge({ access: { authenticate, challenge: 'Bearer error="mine"' } }, 'Bearer stale'),
    'Bearer error="mine"'
  )
  t.equal(
    await getChallenge({ access: { authenticate, challenge: 'Basic realm="notes", Bearer' } }, 'Bearer stale'),
    'Basic realm="notes", Bearer'
  )
  t.equal(
    await getChallenge({ access: { authenticate, challenge: 'Basic realm="notes"' } }, 'Bearer stale'),
    'Basic realm="notes"'
  )
  t.equal(
    await getChallenge({
      access: {
        authenticate: () => {
          throw problem('unauthenticated', { headers: { 'www-authenticate': 'Mine' } })
        }
      }
    }),
    'Mine'
  )
  t.equal(
    await getChallenge({
      routes: {
        list: {
          onRequest: async () => {
            throw Object.assign(new Error('Who?'), { statusCode: 401 })
          }
        }
      }
    }),
    'Bearer'
  )
})

test('OPTIONS lists only the methods that the caller may use, with Cache-Control: no-store', async (t) => {
  const app = await serve(
    t,
    notes({
      access: {
        allow: { list: 'public', read: 'public', create: 'authenticated', all: ({ caller }) => caller === 'root' }
      }
    })
  )
  const getAllowed = async (url: string, name?: string): Promise<unknown[]> => {
    const answer = await request(app, `OPTIONS ${url}`, name === undefined ? {} : as(name))
    t.equal(answer.statusCode, 204)
    t.equal(answer.headers['cache-control'], 'no-store')
    return [answer.headers.allow, answer.headers['accept-post'], answer.headers['accept-patch']]
  }
  t.strictSame(await getAllowed('/notes'), ['GET, HEAD, QUERY, OPTIONS', undefined, undefined])
  t.strictSame(await getAllowed('/notes', 'mallory'), ['GET, HEAD, QUERY, OPTIONS', undefined, undefined])
  t.match(await getAllowed('/notes', 'ada'), ['GET, HEAD, POST, QUERY, OPTIONS', /json/, undefined])
  t.strictSame(await getAllowed('/notes/1', 'ada'), ['GET, HEAD, OPTIONS', undefined, undefined])
  t.match(await getAllowed('/notes/1', 'root'), ['GET, HEAD, PUT, PATCH, DELETE, OPTIONS', undefined, /merge-patch/])
})

test('without an authenticate function, OPTIONS lists all methods and calls no predicate', async (t) => {
  const app = await serve(
    t,
    define({
      name: 'notes',
      schema: Note,
      id: { generate: 'storage' },
      storage: memory(),
      access: {
        allow: () => {
          t.fail('called')
          return false
        }
      }
    })
  )
  t.equal((await request(app, 'OPTIONS /notes')).headers.allow, 'GET, HEAD, POST, QUERY, OPTIONS')
})

test('allowedActions() returns the actions of the current caller', async (t) => {
  const guarded = notes({
    actions: ['list', 'read', 'create', 'remove'],
    access: { allow: { list: 'public', remove: ({ caller }) => caller === 'root', all: 'authenticated' } }
  })
  const nested = open('nested').with(within(guarded, 'id'))
  const app = Fastify()
  t.after(() => app.close())
  const listAllowed = async (request: FastifyRequest): Promise<string[][]> =>
    Promise.all(
      [guarded, open('open', { actions: ['list'] }), nested].map(async (each) => [
        ...(await allowedActions(each, request))
      ])
    )
  app.get('/', listAllowed)
  t.strictSame((await request(app, 'GET /')).json(), [['list'], ['list'], []])
  t.strictSame((await request(app, 'GET /', as('ada'))).json(), [
    ['list', 'read', 'create'],
    ['list'],
    ['list', 'create', 'read', 'replace', 'update', 'remove']
  ])
  t.strictSame((await request(app, 'GET /', as('root'))).json()[0], ['list', 'read', 'create', 'remove'])
})

test('a caller who may write but not read gets no content in write responses', async (t) => {
  const app = await serve(
    t,
    notes({
      access: { allow: { all: 'authenticated', read: ({ caller }) => caller === 'root' } }
    }).with(bulk())
  )
  const content = { text: 'secret' }
  for (const [target, given, status] of [
    ['POST /notes', content, 201],
    ['POST /notes', [content], 201],
    ['PUT /notes/1', content, 204],
    ['PATCH /notes/1', {}, 204],
    ['DELETE /notes/2', undefined, 204]
  ] as const) {
    const answer = await request(app, target, {
      ...(given && { content: given }),
      fields: { ...as('ada').fields, prefer: 'return=representation' }
    })
    t.equal(answer.statusCode, status, target)
    t.equal(answer.payload, '')
  }
  t.equal((await request(app, 'PATCH /notes/1', { content: {}, ...as('root') })).json().text, 'secret')
  const write = await serve(t, notes({ actions: ['create'], access: { allow: 'authenticated' } }))
  t.equal(
    (await request(write, 'POST /notes', { content, ...as('ada') })).json().text,
    'secret',
    'without a read action, the content is no secret'
  )
})

test('PUT creates an item only for a caller who may create', async (t) => {
  const Page = Type.Object({ id: Type.String(), text: Type.String() })
  const pages = define({
    name: 'pages',
    schema: Page,
    id: { generate: 'client' },
    storage: memory(),
    put: { create: true },
    access: { ...named, allow: { all: 'authenticated', create: ({ caller }) => caller === 'root' } }
  })
  const app = await serve(t, pages)
  const content = { text: 'x' }
  t.equal((await request(app, 'PUT /pages/a', { content, ...as('ada') })).statusCode, 404)
  t.equal((await request(app, 'PUT /pages/a', { content, ...as('root') })).statusCode, 201)
  t.equal((await request(app, 'PUT /pages/a', { content, ...as('ada') })).statusCode, 200)
})

test('a nested collection is accessible only to callers who may read the parent', async (t) => {
  const parents = notes({
    name: 'parents',
    access: { allow: { all: 'authenticated', read: ({ caller }) => (caller === 'bob' ? 'hidden' : caller === 'ada') } }
  })
  const children = define({
    name: 'children',
    schema: Type.Object({ id: Type.Integer(), parentId: Type.Integer() }),
    id: { generate: 'storage' },
    storage: memory()
  })
  const app = await serve(t, [parents, children.with(within(parents, 'parentId'))])
  const content = {}
  for (const [name, status] of [
    [undefined, 401],
    ['bob', 404],
    ['eve', 403],
    ['ada', 201]
  ] as const) {
    t.equal(
      (await request(app, 'POST /parents/1/children', { content, ...(name && as(name)) })).statusCode,
      status,
      String(name)
    )
  }
  t.equal((await request(app, 'OPTIONS /parents/1/children', as('eve'))).headers.allow, 'OPTIONS')
  t.equal((await request(app, 'OPTIONS /parents/1/children', as('ada'))).headers.allow, 'GET, HEAD, POST, QUERY, OPTIONS')
})

test('hooks of the app and of the route run before the access rules', async (t) => {
  const order: string[] = []
  const app = await serve(
    t,
    notes({
      routes: {
        all: {
          onRequest: async () => {
            order.push('every')
          }
        },
        list: {
          onRequest: async () => {
            order.push('list')
          }
        }
      },
      access: {
        allow: () => {
          order.push('access')
          return true
        }
      }
    }),
    (app) => {
      app.addHook('onRequest', async () => {
        order.push('app')
      })
    }
  )
  await request(app, 'GET /notes', as('ada'))
  t.strictSame(order, ['app', 'every', 'list', 'access'])
})

declare module '@fastify/jwt' {
  interface FastifyJWT {
    payload: { sub: string; role?: string; exp?: number }
    user: { sub: string; role?: string }
  }
}

test('access works with @fastify/jwt', async (t) => {
  const app = await serve(
    t,
    notes({
      access: {
        authenticate: async ({ request }) => (await request.jwtVerify<{ sub: string }>()).sub,
        challenge: 'Bearer realm="notes"',
        allow: { all: 'authenticated', list: 'public', remove: ({ request }) => request?.user.role === 'admin' }
      }
    }),
    (app) => {
      app.register(jwt, { secret: 'a secret of at least thirty-two bytes' })
    }
  )
  const token = (role: string, payload: { exp?: number } = {}): string => app.jwt.sign({ sub: 'ada', role, ...payload })
  const status = async (target: string, authorization?: string): Promise<number> =>
    (await request(app, target, authorization === undefined ? {} : { fields: { authorization } })).statusCode
  t.equal(await status('GET /notes'), 200)
  const none = await request(app, 'GET /notes/1')
  t.equal(none.statusCode, 401)
  t.equal(none.headers['www-authenticate'], 'Bearer realm="notes"')
  t.match(none.json(), { code: 'unauthenticated', detail: 'No Authorization was found in request.headers' })
  const bad = await request(app, 'GET /notes/1', { fields: { authorization: `Bearer ${token('admin')}x` } })
  t.equal(bad.statusCode, 401)
  t.equal(bad.headers['www-authenticate'], 'Bearer realm="notes", error="invalid_token"')
  const expired = token('admin', { exp: 1 })
  t.equal(await status('GET /notes/1', `Bearer ${expired}`), 401)
  t.equal(await status('GET /notes', `Bearer ${expired}`), 200)
  t.equal(await status('GET /notes/1', `bearer ${token('member')}`), 200, 'the scheme is case-insensitive')
  t.equal(await status('GET /notes/1', `BEARER ${token('member')}`), 200)
  t.equal(await status('DELETE /notes/1', `Bearer ${token('member')}`), 403)
  t.equal(await status('DELETE /notes/1', `Bearer ${token('admin')}`), 204)
})

test('access works with @fastify/bearer-auth in a route hook', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  await app.register(bearerAuth, {
    keys: ['the key'],
    addHook: false,
    specCompliance: 'rfc6749',
    verifyErrorLogLevel: 'debug'
  })
  await app.register(
    collection,
    define({
      name: 'notes',
      schema: Note,
      id: { generate: 'storage' },
      storage: memory({ items }),
      routes: { all: { onRequest: app.verifyBearerAuth! } },
      access: { allow: { remove: () => false } }
    })
  )
  for (const [fields, status, challenge] of [
    [{}, 401, 'Bearer'],
    [{ authorization: 'Bearer wrong' }, 401, 'Bearer error="invalid_token"'],
    [{ authorization: 'Bearer the key' }, 200, undefined],
    [{ authorization: 'bearer the key' }, 200, undefined]
  ] as const) {
    const answer = await request(app, 'GET /notes', { fields })
    t.equal(answer.statusCode, status)
    t.equal(answer.headers['www-authenticate'], challenge)
    if (status === 401) t.equal(answer.json().code, 'unauthenticated')
  }
  t.equal((await request(app, 'DELETE /notes/1', { fields: { authorization: 'Bearer the key' } })).statusCode, 403)
  t.equal((await request(app, 'OPTIONS /notes')).statusCode, 204)
})

test('access works with @fastify/basic-auth and keeps its challenge', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  await app.register(basicAuth, {
    validate: async (name, password) => {
      if (password !== `${name}!`) throw new Error('Wrong.')
    },
    authenticate: { realm: 'the notes' }
  })
  await app.register(
    collection,
    define({
      name: 'notes',
      schema: Note,
      id: { generate: 'storage' },
      storage: memory({ items }),
      routes: { all: { onRequest: app.basicAuth } }
    })
  )
  const basic = (text: string, scheme = 'Basic'): { fields: Record<string, string> } => ({
    fields: { authorization: `${scheme} ${Buffer.from(text).toString('base64')}` }
  })
  for (const given of [{}, basic('ada:wrong')]) {
    const answer = await request(app, 'GET /notes', given)
    t.equal(answer.statusCode, 401)
    t.equal(answer.headers['www-authenticate'], 'Basic realm="the notes", charset="UTF-8"')
    t.equal(answer.json().code, 'unauthenticated')
  }
  t.equal((await request(app, 'GET /notes', basic('ada:ada!'))).statusCode, 200)
  t.equal((await request(app, 'GET /notes', basic('ada:ada!', 'bASIC'))).statusCode, 200)
})

declare module 'fastify' {
  interface FastifyRequest {
    property: string
  }
}

test('access works with @fastify/auth, with alternative strategies and a predicate on the result', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  await app.register(auth)
  await app.register(basicAuth, {
    validate: async (name, password, request) => {
      if (password !== `${name}!`) throw new Error('Wrong.')
      request.property = name
    },
    authenticate: true
  })
  const byKey = async (request: FastifyRequest): Promise<void> => {
    if (request.headers['x-api-key'] !== 'the key') throw Object.assign(new Error('No key.'), { statusCode: 401 })
    request.property = 'machine'
  }
  await app.register(
    collection,
    define({
      name: 'notes',
      schema: Note,
      id: { generate: 'storage' },
      storage: memory({ items }),
      routes: { all: { onRequest: app.auth([byKey, app.basicAuth]) } },
      access: {
        allow: {
          remove: ({ request }) => (request?.property === 'root' ? true : 'hidden'),
          update: ({ request }) => request?.property !== 'machine'
        }
      }
    })
  )
  const basic = (name: string): { fields: Record<string, string> } => ({
    fields: { authorization: `Basic ${Buffer.from(`${name}:${name}!`).toString('base64')}` }
  })
  const refused = await request(app, 'GET /notes')
  t.equal(refused.statusCode, 401)
  t.equal(refused.headers['www-authenticate'], 'Basic charset="UTF-8"')
  t.equal((await request(app, 'GET /notes', { fields: { 'x-api-key': 'the key' } })).statusCode, 200)
  t.equal((await request(app, 'PATCH /notes/1', { content: {}, fields: { 'x-api-key': 'the key' } })).statusCode, 403)
  t.equal((await request(app, 'PATCH /notes/1', { content: {}, ...basic('ada') })).statusCode, 200)
  t.equal((await request(app, 'DELETE /notes/1', basic('ada'))).statusCode, 404)
  t.equal((await request(app, 'DELETE /notes/1', basic('root'))).statusCode, 204)
})

test('a caller can be an object with an id, which separates idempotency keys', async (t) => {
  const seen: unknown[] = []
  const callers: Record<string, unknown> = {
    ada: { id: 1, role: 'admin' },
    also: { id: 1, role: 'member' },
    bob: { id: 2 },
    none: { name: 'x' },
    empty: { id: '' },
    list: ['a'],
    number: 5
  }
  const definition = notes({
    access: {
      authenticate: ({ request }) => callers[String(request.headers['x-user'])] as string,
      scope: ({ caller }) => {
        seen.push(caller)
        return undefined
      }
    },
    hooks: {
      beforeValidation: ({ item, caller }) => {
        seen.push(caller)
        return item
      },
      afterCommit: ({ caller }) => {
        seen.push(caller)
      }
    }
  }).with(idempotency())
  const app = await serve(t, definition)
  const post = (user: string) =>
    request(app, 'POST /notes', { content: { text: 'new' }, fields: { 'x-user': user, 'idempotency-key': '"k"' } })
  const [first, again, other] = [await post('ada'), await post('also'), await post('bob')]
  t.equal(first.statusCode, 201)
  t.strictSame(seen.slice(0, 3), [callers.ada, callers.ada, callers.ada])
  t.equal(again.headers.location, first.headers.location, 'callers with the same id are the same')
  t.not(other.headers.location, first.headers.location)
  for (const user of ['none', 'empty', 'list', 'number']) t.equal((await post(user)).statusCode, 500, user)
})

test('invalid access options fail at boot', async (t) => {
  const defineNotes = (options: object): void => {
    notes(options as Partial<Options<typeof Note>>)
  }
  t.throws(() => open('notes', { access: { allow: 'authenticated' } }), {
    code: 'FST_COLLECTION_BAD_OPTION',
    message: /callers are not identified\. Add access: \{ authenticate/
  })
  t.throws(() => open('notes', { access: { allow: { remove: 'authenticated' } } }), {
    message: /callers are not identified\. Add access: \{ authenticate/
  })
  t.throws(() => defineNotes({ access: { allow: 'everybody' } }), {
    message: /access\.allow is "everybody"\. It must be "public", "authenticated" or a function/
  })
  t.throws(() => defineNotes({ access: { allow: { list: true } } }), { message: /access\.allow is true for list/ })
  t.throws(() => defineNotes({ access: { allow: { delete: 'public' } } }), { message: /access\.allow names "delete"/ })
  t.throws(() => defineNotes({ access: { allow: 7 } }), { message: /access\.allow is 7/ })
  t.throws(() => defineNotes({ access: { authenticate: 'ada' } }), {
    message: /access\.authenticate is "ada"\. It must be a function/
  })
  t.throws(() => defineNotes({ access: { authenticate: () => undefined, realm: 'x' } }), {
    message: /no option "access\.realm"\. Available options: access\.authenticate/
  })
  for (const challenge of ['', 'Bearer\r\nx: y', 'realm="x"', 'Bearer\u00e9']) {
    t.throws(
      () => defineNotes({ access: { authenticate: () => undefined, challenge } }),
      { message: /access\.challenge is/ },
      challenge
    )
  }
})

test('a rejected request returns 401 without reading its content', async (t) => {
  const app = await serve(t, notes())
  const { at } = await created(await serve(t, notes({ access: { allow: 'public' } })), '/notes', { text: 'x' })
  t.equal(at, '/notes/3')
  const answer = await app.inject({
    method: 'POST',
    url: '/notes',
    headers: { 'content-type': 'application/json', 'content-length': '99999999' },
    payload: '{}'
  })
  t.equal(answer.statusCode, 401, 'checked before 413')
})

test('responses that depend on the caller are not cached unless the definition sets a private policy', async (t) => {
  const getCaching = async (
    options: Partial<Options<typeof Note>>,
    target = 'GET /notes',
    fields: Record<string, string> = { 'x-api-key': 'ada' }
  ): Promise<unknown[]> => {
    const answer = await request(
      await serve(
        t,
        notes({
          ...options,
          access: { authenticate: ({ request }) => request.headers['x-api-key']?.toString(), ...options.access }
        })
      ),
      target,
      { fields }
    )
    return [answer.statusCode, answer.headers['cache-control'], answer.headers.vary]
  }
  t.strictSame(await getCaching({}), [200, 'no-store', 'Accept'])
  t.strictSame(await getCaching({}, 'GET /notes/1'), [200, 'no-store', 'Accept'])
  t.strictSame(await getCaching({}, 'GET /notes/9'), [404, 'no-store', 'Accept'], 'a 404 is not cached either')
  t.strictSame(
    await getCaching({ access: { allow: 'public' } }),
    [200, 'no-cache', 'Accept'],
    'public items are the same for all callers'
  )
  t.strictSame(await getCaching({ access: { allow: 'public' } }, 'GET /notes', { authorization: 'x' }), [
    200,
    'no-store',
    'Accept'
  ])
  t.strictSame(await getCaching({ access: { allow: 'public' }, cache: 'public, max-age=60' }), [
    200,
    'public, max-age=60',
    'Accept'
  ])
  t.strictSame(
    await getCaching({ access: { allow: 'public', scope: () => undefined } }),
    [200, 'no-store', 'Accept']
  )
  t.strictSame(await getCaching({ access: { allow: 'public', visible: { text: () => true } } }), [
    200,
    'no-store',
    'Accept'
  ])
  t.strictSame(await getCaching({ access: { allow: { list: 'public', read: 'authenticated' } } }), [
    200,
    'no-cache',
    'Accept'
  ])
  t.strictSame(await getCaching({ access: { allow: { list: 'public', read: 'authenticated' } } }, 'GET /notes/1'), [
    200,
    'no-store',
    'Accept'
  ])
  const cache = 'private, max-age=60'
  t.strictSame(await getCaching({ cache }), [200, cache, 'Accept, Authorization, Cookie'])
  t.strictSame(
    await getCaching({ cache: { read: cache } }, 'GET /notes/1'),
    [200, cache, 'Accept, Authorization, Cookie']
  )
  t.strictSame(await getCaching({ cache: { read: cache } }), [200, 'no-store', 'Accept'])
  t.strictSame(await getCaching({ cache: 'no-store' }), [200, 'no-store', 'Accept'])
  const app = await serve(t, notes({ access: { authenticate: () => 'ada', vary: ['X-Api-Key'] }, cache }))
  const answer = await request(app, 'GET /notes/1')
  t.equal(answer.headers.vary, 'Accept, X-Api-Key')
  const unchanged = await request(app, 'GET /notes/1', { fields: { 'if-none-match': String(answer.headers.etag) } })
  t.strictSame(
    [unchanged.statusCode, unchanged.headers['cache-control'], unchanged.headers.vary],
    [304, cache, 'Accept, X-Api-Key']
  )
  t.equal((await request(app, 'PATCH /notes/1', { content: {} })).headers['cache-control'], 'no-store')
})

test('responses with nested or expanded items follow the cache policy of the other collection', async (t) => {
  const Child = Type.Object({ id: Type.Integer(), parentId: Type.Integer() })
  const options = {
    name: 'children',
    schema: Child,
    id: { generate: 'storage' },
    storage: memory({ items: [{ id: 1, parentId: 1 }] })
  } as const
  const toParent = { children: { parent: { to: 'parents', property: 'parentId' } } } as const
  const { parents, children } = relate(
    { parents: notes({ name: 'parents' }), children: define({ ...options, cache: { read: 'public, max-age=60' } }) },
    toParent
  )
  const app = await serve(t, [parents, children])
  t.equal((await request(app, 'GET /children/1')).headers['cache-control'], 'public, max-age=60')
  const expanded = await request(app, 'GET /children/1?expand=parent', as('ada'))
  t.equal(expanded.json().parent.text, 'one')
  t.equal(expanded.headers['cache-control'], 'no-store')
  t.equal((await request(app, 'GET /children/1?expand=parent')).headers['cache-control'], 'no-store')
  t.equal((await request(app, 'GET /children?expand=parent')).headers['cache-control'], 'no-store')
  t.equal((await request(app, 'GET /children?fields=id')).headers['cache-control'], 'no-cache')
  const same = await request(app, 'GET /children/1?expand=parent', {
    fields: { ...as('ada').fields, 'if-none-match': String(expanded.headers.etag) }
  })
  t.strictSame([same.statusCode, same.headers['cache-control']], [304, 'no-store'])
  t.throws(() => children.with(within(parents, 'parentId')), {
    code: 'FST_COLLECTION_BAD_OPTION',
    message: /its responses depend on the caller/
  })
  const nested = await serve(t, [parents, define(options).with(within(parents, 'parentId'))])
  t.equal((await request(nested, 'GET /parents/1/children', as('ada'))).headers['cache-control'], 'no-store')
  const kept = notes({ name: 'parents', cache: 'private, max-age=60' })
  const related = relate({ parents: kept, children: define({ ...options, cache: 'private, max-age=5' }) }, toParent)
  const cached = await serve(t, [related.parents, related.children.with(within(kept, 'parentId'))])
  const answer = await request(cached, 'GET /parents/1/children?expand=parent', as('ada'))
  t.strictSame(
    [answer.headers['cache-control'], answer.headers.vary],
    ['private, max-age=5', 'Accept, Authorization, Cookie']
  )
})

test('a cache policy that lets shared caches store restricted responses fails at boot', async (t) => {
  const personal: ReadonlyArray<Partial<Options<typeof Note>>> = [
    {},
    { access: { allow: () => true } },
    { access: { allow: 'public', scope: () => undefined } },
    { access: { allow: 'public', visible: { text: () => true } } }
  ]
  for (const options of personal) {
    for (const cache of [
      'public',
      'public, max-age=60',
      'max-age=60',
      'S-MaxAge=60',
      'private, s-maxage=60',
      'Public, private',
      'no-cache',
      'private="x-field", max-age=60',
      'must-revalidate'
    ]) {
      t.throws(
        () => notes({ ...options, cache }),
        { code: 'FST_COLLECTION_BAD_OPTION', message: /depend on the caller/ },
        cache
      )
      t.throws(() => notes({ ...options, cache: { read: cache } }), { message: /for read/ })
    }
    for (const cache of ['private', 'Private , max-age=60', 'no-store', 'private, no-cache']) {
      t.doesNotThrow(() => notes({ ...options, cache }), cache)
    }
  }
  t.doesNotThrow(() => notes({ access: { allow: { list: 'public' } }, cache: { list: 'public, max-age=60' } }))
  t.throws(() => notes({ access: { authenticate: () => 'ada', vary: ['X Api Key'] } }), {
    message: /access\.vary is \["X Api Key"\]/
  })
})
