import compress from '@fastify/compress'
import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import { test } from 'tap'
import collection from '../../lib/index.ts'
import { deprecation } from '../../lib/features/deprecation.ts'
import type { DeprecationOptions } from '../../lib/features/deprecation.ts'
import { ada, build, created, request, users } from '../app.ts'

const deprecated = { since: '2026-01-01', sunset: new Date('2027-01-01T00:00:00.900Z'), link: '/docs/v2' }
const links = '</docs/v2>; rel="deprecation", </docs/v2>; rel="sunset"'

test('every response of a deprecated collection has the deprecation headers (RFC 9745, RFC 8594)', async (t) => {
  const app = await build(
    t,
    users({
      routes: {
        remove: {
          onRequest: async () => {
            throw new Error('out of order')
          }
        }
      }
    }).with(deprecation(deprecated)),
    { service: { description: '/openapi.json' } }
  )
  const { at, tag } = await created(app, '/users', ada)
  const answers: Array<[string, number, Parameters<typeof request>[2]]> = [
    ['GET /users', 200, {}],
    ['HEAD /users', 200, {}],
    ['POST /users', 201, { content: { ...ada, email: 'b@example.com' } }],
    ['POST /users', 422, { content: {} }],
    ['POST /users', 415, { content: 'x', type: 'text/plain' }],
    [`GET ${at}`, 200, {}],
    [`GET ${at}`, 304, { fields: { 'if-none-match': tag } }],
    [`PATCH ${at}`, 412, { content: {}, fields: { 'if-match': '"other"' } }],
    ['GET /users?nothing=1', 400, {}],
    ['GET /users/none', 404, {}],
    [`GET /users/${'x'.repeat(200)}`, 404, {}],
    [`DELETE ${at}`, 500, {}],
    ['OPTIONS /users', 204, {}],
    ['DELETE /users', 405, {}]
  ]
  for (const [target, status, parts] of answers) {
    const { statusCode, headers } = await request(app, target, parts)
    t.equal(statusCode, status, target)
    t.equal(headers.deprecation, '@1767225600', target)
    t.equal(headers.sunset, 'Fri, 01 Jan 2027 00:00:00 GMT', target)
    t.ok(String(headers.link).endsWith(links), `${target}: ${String(headers.link)}`)
  }
  t.equal(
    (await request(app, `GET ${at}`)).headers.link,
    `</users>; rel="collection", </openapi.json>; rel="service-desc", ${links}`,
    'joined with the other links'
  )
})

test('Link headers of the app are kept, and the deprecation links are added once', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('link', ['</a>; rel="a"', '</b>; rel="b"'])
  })
  let failing = true
  await app.register(collection, users({ actions: ['create'] }).with(deprecation(deprecated)))
  await app.register(async (scope) => {
    await scope.register(collection, {
      ...users({
        routes: {
          list: {
            onSend: async () => {
              if (failing) {
                failing = false
                throw new Error('once')
              }
            }
          }
        }
      }).with(deprecation(deprecated)),
      prefix: '/again'
    })
  })
  t.equal((await request(app, 'OPTIONS /users')).headers.link, `</a>; rel="a", </b>; rel="b", ${links}`)
  const failed = await request(app, 'GET /again/users')
  t.equal(failed.statusCode, 500)
  t.equal(failed.headers.link, `</a>; rel="a", </b>; rel="b", ${links}`)
})

test('each option can be left out, and other collections send no deprecation headers', async (t) => {
  const getHeaders = async (options?: DeprecationOptions) => {
    const definition = options === undefined ? users() : users().with(deprecation(options))
    const { deprecation: since, sunset, link } = (await request(await build(t, definition), 'GET /users')).headers
    return { deprecation: since, sunset, link }
  }
  t.strictSame(await getHeaders(), { deprecation: undefined, sunset: undefined, link: undefined })
  t.strictSame(await getHeaders({ since: new Date(0) }), { deprecation: '@0', sunset: undefined, link: undefined })
  t.strictSame(await getHeaders({ since: '2026-01-01T01:00+01:00', link: 'https://example.com/x' }), {
    deprecation: '@1767225600',
    sunset: undefined,
    link: '<https://example.com/x>; rel="deprecation"'
  })
  t.strictSame(await getHeaders({ since: '2026-01-01', sunset: '2026-01-01' }), {
    deprecation: '@1767225600',
    sunset: 'Thu, 01 Jan 2026 00:00:00 GMT',
    link: undefined
  })
})

test('compressed responses keep their ETags and have the deprecation headers', async (t) => {
  const app = Fastify()
  t.after(() => app.close())
  await app.register(compress, { threshold: 0 })
  await app.register(collection, users().with(deprecation(deprecated)))
  const { headers } = await request(app, 'GET /users', { fields: { 'accept-encoding': 'gzip' } })
  t.match(headers, { 'content-encoding': 'gzip', etag: /gzip/, deprecation: '@1767225600' })
})

test('OpenAPI marks the operations as deprecated', async (t) => {
  for (const [definition, mark] of [
    [users().with(deprecation(deprecated)), true],
    [users(), undefined]
  ] as const) {
    const app = Fastify()
    t.after(() => app.close())
    await app.register(swagger, { openapi: { openapi: '3.1.0' } })
    await app.register(collection, definition)
    await app.ready()
    const document = app.swagger() as unknown as { paths: Record<string, Record<string, { deprecated?: boolean }>> }
    const operations = Object.values(document.paths).flatMap((path) => Object.values(path))
    t.equal(operations.length, 6)
    t.ok(operations.every((operation) => operation.deprecated === mark))
  }
})

test('invalid deprecation options fail at boot', async (t) => {
  const wrong: Array<[unknown, RegExp]> = [
    [
      { since: '2026-01-02', sunset: '2026-01-01' },
      /sunset is 2026-01-01T00:00:00\.000Z, which is before since.*later/
    ],
    [{ since: 'soon' }, /deprecation: since is "soon"\. Make it a Date/],
    [{ since: '2026-13-01' }, /deprecation: since is "2026-13-01"/],
    [{ since: '2026-01-01T00:00:00' }, /deprecation: since/],
    [{ since: 1767225600 }, /deprecation: since is 1767225600/],
    [{ since: new Date(NaN) }, /deprecation: since is null/],
    [{}, /deprecation: since is undefined/],
    [{ since: '2026-01-01', sunset: 'never' }, /deprecation: sunset is "never"/],
    [{ since: '2026-01-01', link: 'http://' }, /deprecation: link is "http:\/\/"\. Make it a URI/],
    [{ since: '2026-01-01', until: 'x' }, /deprecation: there is no option "until".*since, sunset, link/],
    [true, /deprecation takes an object with since, sunset, link, but got true/]
  ]
  for (const [options, message] of wrong) {
    t.throws(
      () => users().with(deprecation(options as DeprecationOptions)),
      { code: 'FST_COLLECTION_BAD_OPTION', message },
      JSON.stringify(options)
    )
  }
})
