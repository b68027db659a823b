import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import compress from '@fastify/compress'
import cors from '@fastify/cors'
import etag from '@fastify/etag'
import middie from '@fastify/middie'
import rateLimit from '@fastify/rate-limit'
import swagger from '@fastify/swagger'
import Fastify from 'fastify'
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import collection, { corsOptions } from '../../lib/index.ts'
import { service } from '../../lib/app/service.ts'
import type { Definition } from '../../lib/index.ts'
import type { ServiceOptions } from '../../lib/app/service.ts'
import { auditRules } from '../../lib/app/audit.ts'
import { action } from '../../lib/features/action.ts'
import { logged, notes, request, users } from '../app.ts'

// Each finding with the real plugin, in a wrong and in a correct configuration.

interface Given {
  readonly server?: FastifyServerOptions
  readonly before?: (app: FastifyInstance) => Promise<unknown>
  readonly collections?: readonly Definition[]
  readonly after?: (app: FastifyInstance) => Promise<unknown>
  readonly audit?: ServiceOptions['audit']
}

async function runAudit (
  t: Test,
  { server = {}, before, collections = [users()], after, audit = {} }: Given
): Promise<[codes: string[], app: FastifyInstance, lines: Array<Record<string, unknown>>]> {
  const { lines, logger } = logged()
  const app = Fastify({ ...server, logger: { ...logger, level: 'warn' } }) as unknown as FastifyInstance
  t.teardown(() => app.close())
  await before?.(app)
  await app.register(service, { audit })
  for (const definition of collections) await app.register(collection, { ...definition, prefix: '/v1/:team' })
  await after?.(app)
  await app.ready()
  return [lines.map(({ code }) => String(code).replace('FST_COLLECTION_AUDIT_', '')), app, lines]
}

const limited = (): Definition => notes({ routes: { create: { config: { rateLimit: { max: 1 } } as never } } })
const readable = (): Definition => notes({ actions: ['list', 'read'] })
const openapi = { openapi: { openapi: '3.1.0' } } as const

const cases: ReadonlyArray<readonly [what: string, found: readonly string[], given: Given]> = [
  ['nothing at all', [], {}],
  [
    'CORS with its defaults',
    ['CORS_METHODS', 'CORS_FIELDS', 'CORS_OPTIONS'],
    { before: async (app) => app.register(cors, { origin: '*' }) }
  ],
  [
    'CORS after the collections',
    ['CORS_METHODS', 'CORS_FIELDS', 'CORS_OPTIONS'],
    { after: async (app) => app.register(cors, { origin: '*' }) }
  ],
  ['CORS with corsOptions', [], { before: async (app) => app.register(cors, { origin: '*', ...corsOptions() }) }],
  [
    'CORS without QUERY, with what is needed',
    [],
    {
      before: async (app) =>
        app.register(cors, {
          origin: '*',
          methods: 'GET,HEAD,POST,PUT,PATCH,DELETE',
          exposedHeaders: 'etag, location, link',
          strictPreflight: false
        })
    }
  ],
  [
    'CORS with all headers',
    [],
    { before: async (app) => app.register(cors, { origin: '*', ...corsOptions(), exposedHeaders: '*' }) }
  ],
  [
    'CORS for a read-only collection',
    [],
    {
      before: async (app) => app.register(cors, { origin: '*', strictPreflight: false, exposedHeaders: 'ETag, Link' }),
      collections: [notes({ actions: ['list', 'read'] })]
    }
  ],
  [
    'CORS without allowed origins',
    [],
    { before: async (app) => app.register(cors, { origin: false, strictPreflight: false }) }
  ],
  [
    'CORS for one origin, requested by another',
    ['CORS_METHODS'],
    { before: async (app) => app.register(cors, { origin: [/app\.example$/], strictPreflight: false }) }
  ],
  ...(['GET', 'GET,POST'] as const).map((methods) => [
    `CORS with ${methods} for a custom action`,
    methods === 'GET' ? ['CORS_METHODS'] : [],
    {
      before: async (app: FastifyInstance) =>
        app.register(cors, { origin: '*', methods, exposedHeaders: 'etag, link', strictPreflight: false }),
      collections: [readable().with(action('archive', { run: () => {} }))]
    }
  ] as const),
  [
    'CORS without ETag for a custom action alone',
    ['CORS_FIELDS'],
    {
      before: async (app) => app.register(cors, { origin: '*', methods: 'POST', strictPreflight: false }),
      collections: [notes({ actions: [] }).with(action('archive', { run: () => {} }))]
    }
  ],
  [
    'a limit of a custom action that is not enforced',
    ['RATE_LIMIT'],
    { collections: [readable().with(action('archive', { route: { config: { rateLimit: { max: 1 } } as never }, run: () => {} }))] }
  ],
  ['@fastify/etag over the collections', ['ETAG'], { before: async (app) => app.register(etag) }],
  [
    '@fastify/etag beside them',
    [],
    {
      before: async (app) =>
        app.register(async (scope) => {
          await scope.register(etag)
          scope.get('/own', async () => 'own')
        })
    }
  ],
  ['a limit that is not enforced', ['RATE_LIMIT'], { collections: [limited()] }],
  [
    'a limit that comes too late',
    ['RATE_LIMIT'],
    { collections: [limited()], after: async (app) => app.register(rateLimit) }
  ],
  [
    'a limit that is enforced',
    [],
    {
      before: async (app) => app.register(rateLimit, { global: false }),
      collections: [
        limited(),
        notes({ name: 'others', routes: { all: { config: { rateLimit: false } as never } } } as never)
      ]
    }
  ],
  ['@fastify/rate-limit for others alone', [], { before: async (app) => app.register(rateLimit, { global: false }) }],
  ['a limit of the app that comes too late', ['RATE_LIMIT'], { after: async (app) => app.register(rateLimit) }],
  [
    'a limit of the app that comes too late for a collection without one',
    [],
    {
      collections: [notes({ routes: { all: { config: { rateLimit: false } as never } } })],
      after: async (app) => app.register(rateLimit)
    }
  ],
  [
    'a middleware that responds to OPTIONS',
    ['CORS_OPTIONS'],
    {
      before: async (app) => {
        await app.register(middie)
        app.use((request: IncomingMessage, response: ServerResponse, next: () => void) => {
          if (request.method === 'OPTIONS') response.writeHead(204).end()
          else next()
        })
      }
    }
  ],
  ['a case-insensitive router', ['ROUTER_CASE'], { server: { routerOptions: { caseSensitive: false } } }],
  ['a name in capital letters', [], { collections: [notes({ name: 'NOTES' } as never)] }],
  ['a name without letters', [], { collections: [notes({ name: '2026' } as never)] }],
  [
    '@fastify/swagger with schemas of the app',
    [],
    {
      before: async (app) => {
        await app.register(swagger, openapi)
        app.addSchema({ $id: 'Own', type: 'object' })
        app.get('/own', { schema: { response: { 200: { $ref: 'Own#' } } } }, async () => ({}))
      }
    }
  ],
  ['@fastify/compress before the collections', [], { before: async (app) => app.register(compress) }],
  ['@fastify/compress after the collections', ['COMPRESS'], { after: async (app) => app.register(compress) }],
  ['@fastify/swagger after the collections', ['SWAGGER'], { after: async (app) => app.register(swagger, openapi) }],
  [
    'all routes require credentials',
    ['ETAG'],
    {
      before: async (app) => {
        await app.register(etag)
        app.addHook('onRequest', async (request) => {
          if (request.method !== 'OPTIONS') throw Object.assign(new Error(), { statusCode: 401 })
        })
      }
    }
  ],
  ['no audit', [], { before: async (app) => app.register(cors, { origin: '*' }), audit: false }]
]

for (const [what, found, given] of cases) {
  test(`${what}: ${found.join(', ') || 'no finding'}`, async (t) => {
    const [codes, , lines] = await runAudit(t, given)
    t.strictSame(codes, found)
    for (const { msg } of lines) t.match(msg, /^\/v1\/:team\/\w+: .*\. (?:Register|Leave) /)
  })
}

test('no setup of @fastify/swagger gives the schemas names like def-0', async (t) => {
  for (const options of [
    openapi,
    {},
    {
      ...openapi,
      refResolver: {
        buildLocalReference: (_json: unknown, _base: unknown, _fragment: unknown, index: number) => `def-${index}`
      }
    }
  ]) {
    const [codes, app] = await runAudit(t, { before: async (app) => app.register(swagger, options as never) })
    t.strictSame(codes, [])
    t.notMatch(JSON.stringify(app.swagger()), /def-\d/)
    t.ok(JSON.stringify(app.swagger()).includes('/v1/{team}/users'))
  }
})

test('a strict audit stops the app and reports all findings, and an app without findings starts', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close().catch(() => {}))
  await app.register(cors, { origin: '*' })
  await app.register(collection, users())
  await app.register(service, { audit: { strict: true } })
  await t.rejects(
    async () => {
      await app.ready()
    },
    { code: 'FST_COLLECTION_AUDIT', message: /CORS_METHODS: \/users: .*PUT, PATCH, DELETE.*CORS_FIELDS.*CORS_OPTIONS/ }
  )
  const [, well] = await runAudit(t, {
    audit: { strict: true },
    before: async (app) => app.register(cors, { origin: '*', ...corsOptions() })
  })
  t.equal((await request(well, 'GET /v1/a/users')).statusCode, 200)
})

test('the audit calls no storage and skips routes with constraints', async (t) => {
  let calls = 0
  const definition = notes({ routes: { all: { constraints: { host: 'api.example' } } } })
  const { storage } = definition
  for (const verb of ['list', 'find', 'insert', 'replace', 'remove'] as const) {
    storage[verb] = async () => {
      calls++
      throw new Error()
    }
  }
  t.strictSame(
    (await runAudit(t, { collections: [definition], before: async (app) => app.register(cors, { origin: '*' }) }))[0],
    []
  )
  await runAudit(t, { collections: [notes({ storage: () => storage as never })] })
  t.equal(calls, 0)
})

test('the requests of the audit are in the log only at the levels debug and trace', async (t) => {
  for (const [level, expected] of [['info', []], ['debug', ['DELETE /users', 'DELETE /USERS']]] as const) {
    const { lines, logger } = logged()
    const app = Fastify({ logger: { ...logger, level } })
    t.teardown(() => app.close())
    await app.register(cors, { origin: '*' })
    await app.register(service)
    await app.register(collection, users())
    await app.ready()
    const requests = lines.flatMap(({ req }) => {
      const { method, url } = Object(req) as { method?: string, url?: string }
      return method === 'DELETE' ? [`${method} ${url}`] : []
    })
    t.strictSame(requests, expected, level)
    t.equal(lines.filter(({ code }) => String(code).startsWith('FST_COLLECTION_AUDIT_')).length, 3, 'findings are logged')
    lines.length = 0
    await app.inject('/users')
    t.strictSame(lines.map(({ msg }) => msg), ['incoming request', 'request completed'], 'other requests are logged')
  }
  const methods = ['info', 'warn', 'error', 'debug', 'trace', 'fatal', 'silent'].map((name) => [name, () => {}])
  const child = (): unknown => loggerInstance
  const loggerInstance = Object.freeze({ ...Object.fromEntries(methods), level: 'info', child })
  const app = Fastify({ loggerInstance })
  t.teardown(() => app.close())
  await app.register(service)
  await app.register(collection, users() as never)
  await t.resolves(async () => await app.ready(), 'a logger whose level cannot be set')
})

test('docs/service.md lists every finding, and no others', async (t) => {
  const page = readFileSync(new URL('../../docs/service.md', import.meta.url), 'utf8')
  t.strictSame(
    [...page.matchAll(/^\| `(FST_COLLECTION_AUDIT_\w+)` \|/gm)].map((match) => match[1]),
    Object.keys(auditRules)
  )
})
