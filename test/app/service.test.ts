import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import fastifyStatic from '@fastify/static'
import Fastify from 'fastify'
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import type { client as createClient } from '../../lib/client/client.ts'
import { html } from '../../lib/formats/html.ts'
import collection, { json } from '../../lib/index.ts'
import { registry } from '../../lib/app/registry.ts'
import { service } from '../../lib/app/service.ts'
import type { Definition } from '../../lib/index.ts'
import type { Storage } from '../../lib/storage/index.ts'
import type { ServiceOptions } from '../../lib/app/service.ts'
import { serviceOptionNames } from '../../lib/app/options.ts'
import { within } from '../../lib/features/within.ts'
import { build, logged, modified, notes, request, User, users } from '../app.ts'
import { listen } from '../wire.ts'

interface Given extends FastifyServerOptions {
  options?: ServiceOptions
  collections?: readonly Definition[]
}

export async function serve (
  t: Test,
  { options = {}, collections = [users(), notes()], ...server }: Given = {}
): Promise<FastifyInstance> {
  const app = await build(t, collections, server as FastifyServerOptions)
  await app.register(service, options)
  return app
}

test('with appErrors, the errors of other routes and the 404 of the app are problems', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const options = { appErrors: true, problems: 'https://example.com/problems/' }
  await app.register(service, options)
  app.get('/failing', async () => { throw new Error('secret') })
  await app.register(async (scope) => {
    scope.get('/refused', async () => { throw Object.assign(new Error('Not now.'), { statusCode: 409 }) })
    scope.get('/teapot', async () => { throw Object.assign(new Error(''), { statusCode: 418 }) })
  })
  await app.register(async (scope) => {
    scope.setErrorHandler((_error, _request, reply) => reply.code(500).send('own'))
    scope.get('/own', async () => { throw new Error('secret') })
  })
  const type = 'https://example.com/problems/'
  for (const [path, expected] of [
    ['/failing', { status: 500, code: 'internal-error', type: `${type}internal-error`, instance: '/failing' }],
    ['/refused', { status: 409, code: 'conflict', detail: 'Not now.' }],
    ['/teapot', { status: 418, type: 'about:blank', detail: /^The server responded with 418 / }],
    ['/nowhere?x', { status: 404, code: 'not-found', instance: '/nowhere' }]
  ] as const) {
    const response = await app.inject(path)
    t.equal(response.headers['content-type'], 'application/problem+json')
    t.match({ ...response.json(), status: response.statusCode }, expected, path)
    t.match(response.json().detail, /^[A-Z].*\.$/)
    t.notMatch(response.body, /secret/)
  }
  t.equal((await app.inject('/own')).body, 'own', 'a scope keeps its own handler')
})

test('without appErrors, other routes of the app respond as before', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(service)
  t.match((await app.inject('/nowhere')).json(), { error: 'Not Found' })
})

test('docs/service.md lists every option, and no others', async (t) => {
  const page = readFileSync(new URL('../../docs/service.md', import.meta.url), 'utf8')
  const section = page.slice(page.indexOf('## Options'), page.indexOf('## Home document'))
  t.strictSame(
    [...section.matchAll(/^\| `([\w.]+)` \|/gm)].map((match) => match[1]),
    serviceOptionNames.filter((name) => name !== 'health')
  )
})

test('the home document lists every collection, wherever it is registered, before or after', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  const people = users({ schema: { ...User, title: 'People' } as typeof User })
  await app.register(service, {
    title: 'Test',
    home: undefined as never,
    description: '/openapi.json'
  })
  await app.register(registry)
  await app.register(collection, people)
  await app.register(
    async (scope) => {
      await scope.register(collection, notes({ actions: ['list'] }))
    },
    { prefix: '/teams/:team(^[a-z]+$)' }
  )
  await app.register(
    collection,
    (notes({ schema: people.schema as never }) as Definition<{ role: string }>).with(
      within(people, 'role')
    )
  )
  const answer = await request(app, 'GET /')
  t.equal(answer.statusCode, 200)
  t.equal(answer.headers['content-type'], 'application/json')
  t.strictSame(answer.json(), {
    title: 'Test',
    _links: {
      self: { href: '/' },
      'service-desc': { href: '/openapi.json' },
      collection: [
        { href: '/users', name: 'users', title: 'People' },
        { href: '/teams/{team}/notes', name: 'notes', templated: true },
        { href: '/users/{parent}/notes', name: 'notes', title: 'People', templated: true }
      ],
      item: [
        { href: '/users/{id}', name: 'users', templated: true },
        { href: '/users/{parent}/notes/{id}', name: 'notes', templated: true }
      ]
    }
  })
})

test('the home document is a page in a browser if a collection has the format html', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(service, { title: 'Shop & more', description: '/openapi.json' })
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  await app.register(collection, users({ formats: [json, html] }))
  await app.register(collection, { ...notes(), prefix: '/teams/:team' })
  const page = await request(app, 'GET /', { fields: { accept: browser } })
  t.equal(page.statusCode, 200)
  t.match(page.headers, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': /^default-src 'none'/,
    vary: 'Accept',
    link: /rel="service-desc"/
  })
  t.match(page.payload, '<h1>Shop &amp; more</h1>')
  t.match(page.payload, '<li><a href="/users"><bdi>users</bdi></a> <code>/users</code></li>')
  t.match(page.payload, '<li>notes <code>/teams/{team}/notes</code></li>')
  t.match(page.payload, '<a href="/openapi.json" rel="service-desc">API description</a>')
  const tag = String(page.headers.etag)
  const again = await request(app, 'GET /', { fields: { accept: browser, 'if-none-match': tag } })
  t.equal(again.statusCode, 304)
  t.equal(again.headers['content-security-policy'], page.headers['content-security-policy'])
  for (const accept of ['*/*', 'application/json', 'application/hal+json']) {
    const other = await request(app, 'GET /', { fields: { accept } })
    t.equal(other.headers['content-type'], accept === '*/*' ? 'application/json' : accept)
    t.not(other.headers.etag, tag)
  }

  const untitled = await serve(t, { collections: [users({ formats: [json, html] })] })
  t.match((await request(untitled, 'GET /', { fields: { accept: 'text/html' } })).payload, '<h1>API</h1>')
})

test('pages of a collection link to the home document, wherever it is', async (t) => {
  const getCrumbs = async (options: ServiceOptions) => {
    const app = await serve(t, { options, collections: [users({ formats: [json, html] })] })
    const { body } = await app.inject({ url: '/users', headers: { accept: 'text/html' } })
    const [, trail = ''] = /<nav aria-label="Breadcrumb">(.*?)<\/nav>/s.exec(body) ?? []
    return [...trail.matchAll(/href="([^"]*)"[^>]*><bdi>(.*?)<\/bdi>/g)].map(([, href, title]) => `${title} ${href}`)
  }
  t.same(await getCrumbs({}), ['API /', 'users /users'])
  t.same(await getCrumbs({ home: '/api', title: 'Shop' }), ['Shop /api', 'users /users'])
  t.same(await getCrumbs({ home: false }), ['users /users'])
})

test('the home document follows HTTP semantics (RFC 9110, sections 8.8, 9.3.2, 12 and 13)', async (t) => {
  const app = await serve(t, { options: { description: '/openapi.json', problems: 'https://example.com/problems/' } })
  for (const [path, types] of [['/', ['application/json', 'application/hal+json']]] as const) {
    const tags = new Set<string>()
    for (const type of types) {
      const read = await request(app, `GET ${path}`, { fields: { accept: type.split(';')[0]! } })
      t.equal(read.statusCode, 200)
      t.equal(read.headers['content-type'], type)
      t.match(read.headers, {
        'cache-control': 'no-cache',
        vary: 'Accept',
        'x-content-type-options': 'nosniff',
        link: /rel="service-desc"/
      })
      const tag = String(read.headers.etag)
      tags.add(tag)
      const again = await request(app, `GET ${path}`, { fields: { accept: type, 'if-none-match': tag } })
      t.equal(again.statusCode, 304)
      t.equal(again.headers.etag, tag)
      t.equal(again.payload, '')
      t.notOk('content-type' in again.headers)
      const head = await request(app, `HEAD ${path}`, { fields: { accept: type } })
      t.equal(head.statusCode, 200)
      t.equal(head.payload, '')
      t.equal(head.headers['content-length'], read.headers['content-length'])
      t.equal(head.headers.link, read.headers.link)
    }
    t.equal(tags.size, types.length, 'each type has its own tag')
    t.match((await request(app, `GET ${path}`, { fields: { 'if-match': '"other"' } })).json(), {
      status: 412,
      type: 'https://example.com/problems/precondition-failed'
    })
    const none = await request(app, `GET ${path}`, { fields: { accept: 'text/html' } })
    t.match(none.json(), { status: 406, code: 'not-acceptable', available: types, instance: path })
    const options = await request(app, `OPTIONS ${path}`)
    t.equal(options.statusCode, 204)
    t.equal(options.headers.allow, 'GET, HEAD, OPTIONS')
    for (const method of app.supportedMethods.filter((method) => !['GET', 'HEAD', 'OPTIONS'].includes(method))) {
      const refused = await request(app, `${method} ${path}`)
      t.equal(refused.statusCode, 405, method)
      t.equal(refused.headers.allow, 'GET, HEAD, OPTIONS')
      t.equal(refused.headers['content-type'], 'application/problem+json')
    }
  }
})

test('the service serves the client as a module that imports nothing, with an entity tag', async (t) => {
  const app = await serve(t, { options: { client: true } })
  const response = await request(app, 'GET /client.js')
  t.match(response, {
    statusCode: 200,
    headers: { 'content-type': 'text/javascript', 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' }
  })
  t.notMatch(response.body, /^(import|export) .* from /m)
  const { etag = '' } = response.headers
  t.equal((await request(app, 'GET /client.js', { fields: { 'if-none-match': String(etag) } })).statusCode, 304)
  t.equal((await request(app, 'HEAD /client.js')).headers['content-length'], String(Buffer.byteLength(response.body)))
  t.match(await request(app, 'POST /client.js'), { statusCode: 405, headers: { allow: 'GET, HEAD, OPTIONS' } })
  t.equal((await request(app, 'GET /client.js', { fields: { accept: 'text/html' } })).statusCode, 406)
  t.strictSame((await request(app, 'GET /')).json()._links.related, [
    { href: '/client.js', name: 'client', type: 'text/javascript' }
  ])

  const port = await listen(app)
  const { client } = (await import(`data:text/javascript,${encodeURIComponent(response.body)}`)) as {
    client: typeof createClient
  }
  const items = client<Definition<{ id: string; text: string }>>(`http://127.0.0.1:${port}/notes`)
  const { id } = await items.create({ text: 'a' })
  t.match(await items.read(id), { id, item: { text: 'a' } })

  const elsewhere = await serve(t, { options: { client: '/assets/collections.js' } })
  t.equal((await request(elsewhere, 'GET /assets/collections.js')).body, response.body)
  for (const client of [undefined, false] as const) {
    const without = await serve(t, { options: client === undefined ? {} : { client } })
    t.equal((await request(without, 'GET /client.js')).statusCode, 404)
    t.notOk('related' in (await request(without, 'GET /')).json()._links)
  }
  await t.rejects(serve(t, { options: { client: 'client.js' } }), {
    message: /client is "client\.js"\. It must be true, false or a path that begins with "\/"/
  })
})

test('errors of app hooks are problems there and keep the Vary header of the app', async (t) => {
  const app = await serve(t)
  app.addHook('onRequest', async (request, reply) => {
    reply.header('vary', 'Origin')
    if (request.headers.fail !== undefined) {
      throw Object.assign(new Error('secret'), { statusCode: Number(request.headers.fail) })
    }
  })
  t.equal((await request(app, 'GET /')).headers.vary, 'Origin, Accept')
  t.match((await request(app, 'GET /', { fields: { fail: '403' } })).json(), {
    status: 403,
    code: 'forbidden',
    detail: 'secret'
  })
  const failed = await request(app, 'GET /', { fields: { fail: '500' } })
  t.equal(failed.statusCode, 500)
  t.notMatch(failed.payload, /secret/)
})

test('an app keeps its own `/`, and home can be moved or turned off', async (t) => {
  const own = Fastify()
  t.teardown(() => own.close())
  own.get('/', async () => 'own')
  await own.register(service)
  t.equal((await request(own, 'GET /')).payload, 'own')
  t.equal((await request(own, 'POST /')).statusCode, 404)
  const custom = await serve(t, { options: { home: '/api' } })
  t.equal((await request(custom, 'GET /')).statusCode, 404)
  t.strictSame(Object.keys((await request(custom, 'GET /api')).json()._links), ['self', 'collection', 'item'])
  t.notOk('link' in (await request(custom, 'GET /api')).headers)
  const none = await serve(t, { options: { home: false } })
  t.equal((await request(none, 'GET /')).statusCode, 404)
})

test('routes that the app adds after the service replace those of the service', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(service)
  await app.register(async (scope) => {
    scope.get('/', async () => 'own')
    scope.get('/healthz', { exposeHeadRoute: false }, async () => 'own')
    scope.post('/readyz', async () => 'own')
  })
  for (const [target, status, content] of [
    ['GET /', 200, 'own'],
    ['HEAD /', 200, ''],
    ['POST /', 404, undefined],
    ['OPTIONS /', 404, undefined],
    ['GET /healthz', 200, 'own'],
    ['HEAD /healthz', 404, undefined],
    ['GET /readyz', 200, '{"status":"pass"}'],
    ['POST /readyz', 200, 'own'],
    ['PUT /readyz', 405, undefined]
  ] as const) {
    const answer = await request(app, target)
    t.equal(answer.statusCode, status, target)
    if (content !== undefined) t.equal(answer.payload, content, target)
  }
})

test('index.html of @fastify/static is served at `/`, and the probes are those of the service', async (t) => {
  const root = t.testdir({ 'index.html': '<title>own</title>', 'other.txt': 'other' })
  for (const order of ['before', 'after'] as const) {
    for (const wildcard of [true, false]) {
      const app = Fastify()
      t.after(() => app.close())
      if (order === 'before') await app.register(fastifyStatic, { root, wildcard })
      await app.register(service, {})
      await app.register(collection, notes())
      if (order === 'after') await app.register(fastifyStatic, { root, wildcard })
      for (const [target, status, content] of [
        ['GET /', 200, '<title>own</title>'],
        ['HEAD /', 200, ''],
        ['GET /other.txt', 200, 'other'],
        ['GET /healthz', 200, '{"status":"pass"}'],
        ['GET /readyz', 200, '{"status":"pass"}'],
        ['GET /notes', 200, '[]'],
        ['POST /', 404, undefined]
      ] as const) {
        const answer = await request(app, target)
        t.equal(answer.statusCode, status, `${target}, ${order}, wildcard: ${wildcard}`)
        if (content !== undefined) t.equal(answer.payload, content)
      }
    }
    const chosen = Fastify()
    t.after(() => chosen.close())
    if (order === 'before') await chosen.register(fastifyStatic, { root })
    await chosen.register(service, { home: '/' })
    if (order === 'after') await chosen.register(fastifyStatic, { root })
    t.ok((await request(chosen, 'GET /')).json()._links, 'an explicit home takes precedence over a wildcard')
  }
})

test('liveness always returns 200; readiness returns 503 and names the storage that does not respond', async (t) => {
  const { lines, logger } = logged()
  let how: 'well' | 'failing' | 'throwing' | 'hanging' | 'empty' = 'well'
  const signals: AbortSignal[] = []
  let calls = 0
  const list: Storage<object>['list'] = (_query, { signal }) => {
    calls++
    signals.push(signal)
    if (how === 'throwing') throw new Error('secret')
    if (how === 'hanging') return new Promise(() => {})
    return how === 'well'
      ? Promise.resolve({ entries: [], more: false })
      : Promise.reject(how === 'empty' ? undefined : new Error('secret'))
  }
  const definition = notes({ storage: modified(() => ({ list })) })
  const app = await build(t, [definition, users()], { logger: { ...logger, level: 'warn' } })
  await app.register(collection, { ...definition, prefix: '/again' })
  await app.register(service)
  for (how of ['well', 'failing', 'throwing', 'hanging', 'empty', 'well'] as const) {
    // Longer than a result is reused.
    await wait(1100)
    calls = 0
    const [live, ...ready] = await Promise.all(
      ['GET /healthz', 'GET /readyz', 'GET /readyz', 'HEAD /readyz'].map((target) => request(app, target))
    )
    t.strictSame(
      [live!.statusCode, live!.payload, live!.headers['cache-control'], live!.headers['content-type']],
      [200, '{"status":"pass"}', 'no-store', 'application/json']
    )
    t.equal(calls, 1, 'a storage is checked once for all collections')
    for (const answer of ready) {
      t.equal(answer.statusCode, how === 'well' ? 200 : 503, how)
      t.equal(answer.headers['cache-control'], 'no-store')
    }
    if (how === 'well') continue
    t.match(ready[0]!.json(), {
      status: 503,
      code: 'service-unavailable',
      collections: ['notes'],
      detail: /: notes\.$/
    })
    t.match(ready[0]!.headers, { 'retry-after': '1', 'content-type': 'application/problem+json' })
    t.notMatch(ready[0]!.payload, /secret/)
    t.match(
      lines.splice(0).map(({ msg }) => msg),
      [/storage of the collection notes/]
    )
    t.equal(signals.at(-1)?.aborted, how === 'hanging', 'the signal of a hanging storage is aborted')
  }
  t.equal((await request(app, 'POST /healthz')).statusCode, 405)
})

test('an app keeps its own probes, and those of the service can be moved or turned off', async (t) => {
  const own = Fastify()
  t.teardown(() => own.close())
  own.get('/healthz', async () => 'own')
  await own.register(service, { health: { ready: '/ready' } })
  t.equal((await request(own, 'GET /healthz')).payload, 'own')
  t.equal((await request(own, 'GET /ready')).statusCode, 200)
  const none = await serve(t, { options: { health: { live: false, ready: false } } })
  for (const path of ['/healthz', '/readyz']) t.equal((await request(none, `GET ${path}`)).statusCode, 404)
})
