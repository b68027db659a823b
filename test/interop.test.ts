import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import accepts from '@fastify/accepts'
import basicAuth from '@fastify/basic-auth'
import bearerAuth from '@fastify/bearer-auth'
import caching from '@fastify/caching'
import circuitBreaker from '@fastify/circuit-breaker'
import compress from '@fastify/compress'
import cookie from '@fastify/cookie'
import cors from '@fastify/cors'
import csrf from '@fastify/csrf-protection'
import etag from '@fastify/etag'
import formbody from '@fastify/formbody'
import helmet from '@fastify/helmet'
import jwt from '@fastify/jwt'
import middie from '@fastify/middie'
import multipart from '@fastify/multipart'
import rateLimit from '@fastify/rate-limit'
import { fastifyRequestContext } from '@fastify/request-context'
import responseValidation from '@fastify/response-validation'
import sensible from '@fastify/sensible'
import fastifyStatic from '@fastify/static'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import underPressure from '@fastify/under-pressure'
import websocket from '@fastify/websocket'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import collection, { corsOptions, define } from '../lib/index.ts'
import { service } from '../lib/app/service.ts'
import { memory } from '../lib/storage/memory.ts'
import { logged, request } from './app.ts'
import { noServers } from './storage/databases.ts'
import { listen, Wire } from './wire.ts'

// Every plugin that many apps use, registered before and after a collection: the responses are those of an app without
// the plugin, except for what is listed here and in the table of docs/existing-app.md.

type Headers = Record<string, string>

/** `npm run test:all` installs it. With a name that is not a literal, the compiler does not look for it. */
const expressModule: string = './all/express.ts'

/** How the responses of the probe differ from those without the plugin. */
interface Difference {
  /** Headers with another value, in at least one response. */
  readonly headers?: readonly string[]
  /** Other statuses, by request. */
  readonly statuses?: Readonly<Record<string, number>>
  /** Requests with other content. */
  readonly contents?: readonly string[]
  /** What the audit of the service reports. */
  readonly audit?: readonly string[]
}

interface Refusal {
  readonly target: string
  readonly headers?: Headers
  readonly status: number
  /** The orders in which the plugin refuses it; both unless they are given. */
  readonly orders?: readonly Order[]
}

interface Setup {
  /** As in the first column of the table. */
  readonly name: string
  readonly skip?: string | false
  readonly register: (app: FastifyInstance) => Promise<unknown>
  /** Headers of all requests, also of those without the plugin. */
  readonly getHeaders?: (app: FastifyInstance) => Promise<Headers>
  readonly before?: Difference
  readonly after?: Difference
  /** A request that the plugin refuses: the response is a problem. */
  readonly refusal?: Refusal
}

type Order = 'before' | 'after'
const orders: readonly Order[] = ['before', 'after']

const isWrite = (method: string): boolean => !['GET', 'HEAD', 'OPTIONS', 'QUERY', 'TRACE'].includes(method)

const passOn = (_request: unknown, _response: unknown, next: () => void): void => next()

const helmetHeaders = [
  'content-security-policy',
  'cross-origin-opener-policy',
  'cross-origin-resource-policy',
  'origin-agent-cluster',
  'referrer-policy',
  'strict-transport-security',
  'x-dns-prefetch-control',
  'x-download-options',
  'x-frame-options',
  'x-permitted-cross-domain-policies',
  'x-xss-protection'
]

const corsHeaders = ['access-control-allow-methods', 'access-control-allow-origin', 'access-control-expose-headers']

const setups: readonly Setup[] = [
  { name: '@fastify/accepts', register: async (app) => app.register(accepts) },
  {
    name: '@fastify/basic-auth',
    register: async (app) => {
      await app.register(basicAuth, {
        authenticate: { realm: 'notes' },
        validate: async (name) => {
          if (name !== 'ada') throw new Error('unknown')
        }
      })
      app.addHook('onRequest', app.basicAuth)
    },
    getHeaders: async () => ({ authorization: `Basic ${btoa('ada:secret')}` }),
    refusal: { target: 'GET /notes', status: 401 }
  },
  {
    name: '@fastify/bearer-auth',
    register: async (app) => app.register(bearerAuth, { keys: ['key'] }),
    getHeaders: async () => ({ authorization: 'Bearer key' }),
    refusal: { target: 'GET /notes', status: 401 }
  },
  {
    name: '@fastify/caching',
    register: async (app) => app.register(caching, { privacy: caching.privacy.PRIVATE, expiresIn: 60 })
  },
  {
    name: '@fastify/circuit-breaker',
    register: async (app) => {
      await app.register(circuitBreaker)
      app.addHook('preHandler', app.circuitBreaker())
    },
    // It reads decorators that requests of the collection do not have then, and fails where its hook did not run.
    after: {
      headers: ['content-length', 'content-type'],
      contents: ['form', 'multipart', 'delete the list', 'post to the item', 'trace']
    }
  },
  {
    name: '@fastify/compress',
    register: async (app) => app.register(compress, { threshold: 0, syncThreshold: 10_000 }),
    getHeaders: async () => ({ 'accept-encoding': 'gzip' }),
    before: { headers: ['content-encoding', 'content-length', 'etag'] },
    after: { audit: ['COMPRESS'] }
  },
  { name: '@fastify/cookie', register: async (app) => app.register(cookie), getHeaders: async () => ({ cookie: 'a=b' }) },
  {
    name: '@fastify/cors',
    register: async (app) => app.register(cors, { origin: ['https://app.example'], ...corsOptions() }),
    getHeaders: async () => ({ origin: 'https://app.example' }),
    before: { headers: corsHeaders },
    after: { headers: corsHeaders }
  },
  {
    name: '@fastify/csrf-protection',
    register: async (app) => {
      await app.register(cookie)
      await app.register(csrf)
      app.addHook('onRequest', (request, reply, done) => {
        if (isWrite(request.method)) app.csrfProtection(request, reply, done)
        else done()
      })
      app.get('/token', async (_request, reply) => reply.generateCsrf())
    },
    getHeaders: async (app) => {
      const { payload, cookies } = await request(app, 'GET /token')
      return { 'csrf-token': payload, cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; ') }
    },
    refusal: { target: 'POST /notes', status: 403 }
  },
  {
    name: '@fastify/etag',
    register: async (app) => app.register(etag),
    before: { headers: ['content-length', 'etag'], audit: ['ETAG'] },
    after: { headers: ['content-length', 'etag'], audit: ['ETAG'] }
  },
  {
    name: '@fastify/express',
    skip: noServers,
    register: async (app) => {
      const { default: express } = await import(expressModule) as { default: FastifyPluginAsync }
      await app.register(express)
      app.use(passOn)
    }
  },
  { name: '@fastify/formbody', register: async (app) => app.register(formbody) },
  {
    name: '@fastify/helmet',
    register: async (app) => app.register(helmet),
    before: { headers: helmetHeaders },
    after: { headers: helmetHeaders }
  },
  {
    name: '@fastify/jwt',
    register: async (app) => {
      await app.register(jwt, { secret: 'a secret of this test alone' })
      app.addHook('onRequest', async (request) => {
        if (request.url.startsWith('/notes')) await request.jwtVerify()
      })
    },
    getHeaders: async (app) => ({ authorization: `Bearer ${app.jwt.sign({ sub: 'ada' })}` }),
    refusal: { target: 'GET /notes', status: 401 }
  },
  {
    name: '@fastify/middie',
    register: async (app) => {
      await app.register(middie)
      app.use(passOn)
    }
  },
  { name: '@fastify/multipart', register: async (app) => app.register(multipart) },
  {
    name: '@fastify/rate-limit',
    register: async (app) => app.register(rateLimit, {
      max: ({ headers }) => (headers.from === 'many@example.com' ? 0 : 100)
    }),
    before: { headers: ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'] },
    after: { audit: ['RATE_LIMIT'] },
    refusal: { target: 'GET /notes', headers: { from: 'many@example.com' }, status: 429, orders: ['before'] }
  },
  { name: '@fastify/request-context', register: async (app) => app.register(fastifyRequestContext) },
  { name: '@fastify/response-validation', register: async (app) => app.register(responseValidation) },
  { name: '@fastify/sensible', register: async (app) => app.register(sensible) },
  { name: '@fastify/static', register: async (app) => app.register(fastifyStatic, { root: import.meta.dirname }) },
  {
    name: '@fastify/swagger',
    register: async (app) => app.register(swagger, { openapi: { openapi: '3.1.0' } }),
    after: { audit: ['SWAGGER'] }
  },
  {
    name: '@fastify/swagger-ui',
    register: async (app) => {
      await app.register(swagger, { openapi: { openapi: '3.1.0' } })
      await app.register(swaggerUi)
    },
    after: { audit: ['SWAGGER'] }
  },
  { name: '@fastify/under-pressure', register: async (app) => app.register(underPressure, { maxEventLoopDelay: 1e9 }) },
  { name: '@fastify/websocket', register: async (app) => app.register(websocket) }
]

interface Step {
  readonly status: number
  readonly headers: Readonly<Headers>
  readonly content: string
}

const Note = Type.Object({ id: Type.String({ format: 'uuid' }), text: Type.String() })
const id = '0199a8f0-5c1e-7b3a-9d42-6f1e2a3b4c5d'
const item = `/notes/${id}`

interface Probe {
  readonly target: string
  readonly content?: string
  readonly headers?: Headers
}

const json = { 'content-type': 'application/json' }
/** Replaced by the entity tag that the item has after it was created. */
const tag = '<tag>'

/** The six routes, and what HTTP adds to them. */
const probes: Readonly<Record<string, Probe>> = {
  create: { target: 'POST /notes', content: `{"id":"${id}","text":"one"}`, headers: json },
  read: { target: `GET ${item}` },
  'head of the item': { target: `HEAD ${item}` },
  list: { target: 'GET /notes' },
  'head of the list': { target: 'HEAD /notes' },
  query: { target: 'QUERY /notes', content: '{"limit":1}', headers: json },
  'not modified': { target: `GET ${item}`, headers: { 'if-none-match': tag } },
  replace: { target: `PUT ${item}`, content: `{"id":"${id}","text":"two"}`, headers: { ...json, 'if-match': tag } },
  'replace what has changed': {
    target: `PUT ${item}`,
    content: `{"id":"${id}","text":"three"}`,
    headers: { ...json, 'if-match': tag }
  },
  patch: { target: `PATCH ${item}`, content: '{"text":"four"}', headers: { 'content-type': 'application/merge-patch+json' } },
  'create what exists': { target: 'POST /notes', content: `{"id":"${id}","text":"one"}`, headers: json },
  invalid: { target: 'POST /notes', content: '{"text":1,"more":true}', headers: json },
  malformed: { target: 'POST /notes', content: '{', headers: json },
  form: { target: 'POST /notes', content: 'text=one', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
  multipart: { target: 'POST /notes', content: '--x--', headers: { 'content-type': 'multipart/form-data; boundary=x' } },
  'unknown parameter': { target: 'GET /notes?nothing=1' },
  'not acceptable': { target: 'GET /notes', headers: { accept: 'image/png' } },
  'delete the list': { target: 'DELETE /notes' },
  'post to the item': { target: `POST ${item}`, content: '{}', headers: json },
  trace: { target: 'TRACE /notes' },
  'options of the list': { target: 'OPTIONS /notes' },
  'options of the item': { target: `OPTIONS ${item}` },
  remove: { target: `DELETE ${item}` },
  'not found': { target: `GET ${item}` }
}

/** Sends all requests to the app, over a connection: some plugins replace parts of Node.js that `inject()` needs. */
async function runProbes (app: FastifyInstance, headers: Headers): Promise<Map<string, Step>> {
  const { port } = app.server.address() as AddressInfo
  const steps = new Map<string, Step>()
  const tags: string[] = []
  let wire = new Wire(port)
  for (const [name, probe] of Object.entries(probes)) {
    const fields = Object.entries({ ...headers, ...probe.headers }).map(([name, value]) => (
      `${name}: ${value.replace(tag, tags[0] ?? '')}`
    ))
    const answer = await wire.ask([probe.target, ...fields], probe.content)
    const { date, ...others }: Headers = answer.fields
    if (others.connection === 'close') wire = new Wire(port)
    // Entity tags are random: their number is compared.
    const { etag } = others
    if (etag !== undefined) {
      const known = etag.replace(/-gzip"$/, '"')
      if (!tags.includes(known)) tags.push(known)
      others.etag = etag.replace(known.slice(0, -1), `"tag ${tags.indexOf(known)}`)
    }
    const isCompressed = others['content-encoding'] === 'gzip' && answer.content.length > 0
    const content = isCompressed ? gunzipSync(answer.content) : answer.content
    steps.set(name, { status: answer.status, headers: others, content: content.toString() })
  }
  wire.close()
  return steps
}

interface Built {
  readonly app: FastifyInstance
  /** What the audit has found. */
  readonly audit: string[]
}

async function build (t: Test, register: Setup['register'], order?: Order): Promise<Built> {
  const { lines, logger } = logged()
  const app = Fastify({ logger: { ...logger, level: 'warn' }, forceCloseConnections: true }) as unknown as FastifyInstance
  t.teardown(() => app.close())
  await app.register(service)
  if (order === 'before') await register(app)
  await app.register(collection, define({ name: 'notes', schema: Note, id: { generate: 'client' }, storage: memory() }))
  if (order === 'after') await register(app)
  await listen(app)
  return { app, audit: lines.flatMap(({ code }) => /^FST_COLLECTION_AUDIT_(.*)$/.exec(String(code))?.[1] ?? []) }
}

function parseVary ({ headers: { vary = '' } }: Step): string[] {
  return vary.toLowerCase().split(/, */)
}

function compare (expected: ReadonlyMap<string, Step>, found: ReadonlyMap<string, Step>): Difference {
  const headers = new Set<string>()
  const statuses: Record<string, number> = {}
  const contents: string[] = []
  for (const [name, step] of expected) {
    const other = found.get(name)!
    if (other.status !== step.status) statuses[name] = other.status
    if (other.content !== step.content) contents.push(name)
    for (const header of Object.keys({ ...step.headers, ...other.headers })) {
      // A plugin can add to Vary, and must not remove anything.
      const isExtended = header === 'vary' && parseVary(step).every((name) => parseVary(other).includes(name))
      if (!isExtended && step.headers[header] !== other.headers[header]) headers.add(header)
    }
  }
  return {
    ...headers.size > 0 && { headers: [...headers].sort() },
    ...Object.keys(statuses).length > 0 && { statuses },
    ...contents.length > 0 && { contents }
  }
}

for (const { name, skip = false, register, getHeaders, refusal, ...differences } of setups) {
  test(`${name} before and after the collection`, { skip }, async (t) => {
    for (const order of orders) {
      const { app, audit } = await build(t, register, order)
      const headers = await getHeaders?.(app) ?? {}
      const { app: alone } = await build(t, async () => {})
      const found = compare(await runProbes(alone, headers), await runProbes(app, headers))
      t.strictSame({ ...found, ...audit.length > 0 && { audit } }, differences[order] ?? {}, order)
      if (refusal === undefined || refusal.orders?.includes(order) === false) continue
      const { target, status } = refusal
      const refused = await request(app, target, { fields: refusal.headers ?? {} })
      t.equal(refused.statusCode, status, order)
      t.equal(refused.headers['content-type'], 'application/problem+json')
      t.match(refused.json(), { status, detail: String, instance: '/notes' })
    }
  })
}

test('docs/existing-app.md has a row for every plugin, and no others', async (t) => {
  const page = readFileSync(new URL('../docs/existing-app.md', import.meta.url), 'utf8')
  const table = page.slice(page.indexOf('## Plugins'))
  t.strictSame([...table.matchAll(/^\| `(@fastify\/.*?)` \|/gm)].map((match) => match[1]), setups.map(({ name }) => name))
})
