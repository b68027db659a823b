import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { registerHooks } from 'node:module'
import { text } from 'node:stream/consumers'
import swagger from '@fastify/swagger'
import { Type } from '@sinclair/typebox'
import collection, { define } from '../../../lib/index.ts'
import { action } from '../../../lib/features/action.ts'
import { idempotency } from '../../../lib/features/idempotency.ts'
import { within } from '../../../lib/features/within.ts'
import { mcp } from '../../../lib/doors/agents/mcp.ts'
import type { McpOptions } from '../../../lib/doors/agents/mcp.ts'
import { memory } from '../../../lib/storage/memory.ts'
import Fastify from 'fastify'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { test } from 'tap'
import { authenticate, connect, defineProducts, listen, serveShop } from './shop.ts'

// What is refused before a tool is called, and at boot.

const accept = 'application/json, text/event-stream'

function send (app: FastifyInstance, body: unknown, { headers, ...options }: InjectOptions = {}) {
  return app.inject({
    method: 'POST',
    url: '/mcp',
    payload: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { accept, host: 'localhost:3000', 'content-type': 'application/json', ...headers },
    ...options
  })
}

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }

function callTool (name: string, given: object) {
  return { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: given } }
}

test('both revisions are served without sessions', async (t) => {
  const app = await serveShop(t)
  const old = await send(app, list)
  t.equal(old.statusCode, 200)
  t.match(old.body, /products_list/)
  t.notOk('mcp-session-id' in old.headers)
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {}
  }
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' }
  const now = await send(app, { ...list, params: { _meta } }, { headers })
  t.equal(now.statusCode, 200)
  t.match(now.json(), { result: { tools: [{ name: 'products_list' }], ttlMs: Number } })
  const wrong = await send(app, {
    ...list, params: { _meta: { ..._meta, 'io.modelcontextprotocol/protocolVersion': '1999-01-01' } }
  }, { headers: { ...headers, 'mcp-protocol-version': '1999-01-01' } })
  t.equal(wrong.statusCode, 400)
  t.match(wrong.json(), { error: { data: { supported: ['2026-07-28'] } } })
})

test('requests that are refused before a tool is called', async (t) => {
  const products = defineProducts()
  const app = await serveShop(t, { definitions: [products], route: { bodyLimit: 10_000 } })
  const boss = { authorization: 'Bearer boss' }
  const create = callTool('products_create', { item: { id: 'a', name: 'Tea' }, key: 'key-0001' })
  const cases: Array<[what: string, status: number, body: unknown, options?: InjectOptions]> = [
    ['a forged Host', 403, create, { headers: { ...boss, host: 'evil.example' } }],
    ['a forged Origin', 403, create, { headers: { ...boss, origin: 'https://evil.example' } }],
    ['an opaque Origin', 403, create, { headers: { ...boss, origin: 'null' } }],
    ['wrong credentials', 401, create, { headers: { authorization: 'Bearer wrong' } }],
    ['a huge body', 413, callTool('products_create', { item: { name: 'x'.repeat(20_000) } }), { headers: boss }],
    ['no JSON', 400, '{"jsonrpc": "2.0"', { headers: boss }],
    ['a name that occurs twice', 400, '{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"ping"}', { headers: boss }],
    ['a number that loses digits', 400, JSON.stringify(create).replace('"key-0001"', '12345678901234567890'), { headers: boss }],
    ['another content type', 415, 'x=1', { headers: { ...boss, 'content-type': 'application/x-www-form-urlencoded' } }],
    ['no content', 400, '', { headers: boss }],
    ['another method', 404, create, { headers: boss, method: 'PUT' }],
    ['a session', 405, '', { headers: boss, method: 'GET', payload: '' }]
  ]
  for (const [what, status, body, options] of cases) {
    const response = await send(app, body, options)
    t.equal(response.statusCode, status, `${what}: ${response.body}`)
    t.match(response.json(), [400, 404, 405, 415].includes(status) ? Object : { status, detail: String }, what)
  }
  t.match(await app.collection(products).list().next(), { done: true }, 'nothing is written')
  t.equal((await send(app, create, { headers: { ...boss, origin: 'http://localhost:8080' } })).statusCode, 200)
})

const Note = Type.Object({ id: Type.String(), text: Type.String() })
const id = { generate: 'client' } as const
const secret = define({ name: 'secrets', schema: Note, id, storage: memory(), access: { authenticate } }).with(idempotency())

test('401 for a caller that can do nothing without credentials, with the metadata of RFC 9728', async (t) => {
  const plain = await serveShop(t, { definitions: [secret] })
  t.equal((await send(plain, list)).headers['www-authenticate'], 'Bearer')
  const app = await serveShop(t, {
    definitions: [secret],
    authorizationServers: ['https://login.example.com'],
    hosts: ['api.example.com'],
    path: '/v1/agents'
  })
  const options = { url: '/v1/agents', headers: { host: 'api.example.com' } }
  const refused = await send(app, list, options)
  t.equal(refused.statusCode, 401)
  t.match(refused.json(), { status: 401, code: 'unauthenticated' })
  const metadata = 'http://api.example.com/.well-known/oauth-protected-resource/v1/agents'
  t.equal(refused.headers['www-authenticate'], `Bearer resource_metadata="${metadata}"`)
  const wrong = await send(app, list, { ...options, headers: { ...options.headers, authorization: 'Bearer wrong' } })
  t.equal(wrong.headers['www-authenticate'], `Bearer resource_metadata="${metadata}", error="invalid_token"`)
  const { pathname } = new URL(metadata)
  t.strictSame((await app.inject({ url: pathname, headers: { host: 'api.example.com' } })).json(), {
    resource: 'http://api.example.com/v1/agents',
    authorization_servers: ['https://login.example.com'],
    bearer_methods_supported: ['header']
  })
  t.equal((await app.inject({ url: pathname, headers: { host: 'evil.example' } })).statusCode, 403)
  const open = await serveShop(t, { definitions: [defineProducts()] })
  t.equal((await send(open, list)).statusCode, 200, 'an anonymous caller can read products')
})

test('the stream of a subscription ends when the app closes', async (t) => {
  const products = defineProducts()
  const app = Fastify()
  await app.register(collection, products)
  await app.register(mcp, { collections: [products] })
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {}
  }
  const method = 'subscriptions/listen'
  const response = await fetch(`${await listen(app)}/mcp`, {
    method: 'POST',
    headers: { accept, 'content-type': 'application/json', 'mcp-protocol-version': '2026-07-28', 'mcp-method': method },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { _meta, notifications: { toolsListChanged: true } } })
  })
  const [content] = await Promise.all([response.text(), app.close()])
  t.match(content, /subscriptions\/acknowledged/)
})

test('over HTTP/2, :authority is the host', async (t) => {
  const products = defineProducts()
  const app = Fastify({ http2: true })
  t.after(() => app.close())
  await app.register(collection, products)
  await app.register(mcp, { collections: [products] })
  const session = connectHttp2(await listen(app as unknown as FastifyInstance))
  t.after(async () => session.destroy())
  const post = async (authority?: string) => {
    const stream = session.request({
      ':method': 'POST', ':path': '/mcp', accept, 'content-type': 'application/json', ...authority && { ':authority': authority }
    })
    stream.end(JSON.stringify(list))
    const [headers] = await once(stream, 'response') as [Record<string, unknown>]
    const content = await text(stream)
    return { status: headers[':status'], content }
  }
  t.match(await post(), { status: 200, content: /products_list/ })
  t.match(await post('evil.example'), { status: 403 })
})

test('without the package of the protocol, the app does not start', async (t) => {
  const products = defineProducts()
  const app = Fastify()
  t.after(() => app.close())
  const hooks = registerHooks({
    resolve (specifier, context, next) {
      if (specifier === '@modelcontextprotocol/server') throw new Error('not found')
      return next(specifier, context)
    }
  })
  t.after(async () => hooks.deregister())
  await app.register(collection, products)
  await t.rejects(async () => app.register(mcp, { collections: [products] }), {
    code: 'FST_COLLECTION_BAD_MCP',
    message: /npm install @modelcontextprotocol\/server/,
    cause: { message: 'not found' }
  })
})

test('a document of OpenAPI does not have the route', async (t) => {
  const products = defineProducts()
  const app = Fastify()
  t.after(() => app.close())
  await app.register(swagger, { openapi: { openapi: '3.1.0' } })
  await app.register(collection, products)
  await app.register(mcp, { collections: [products], authorizationServers: ['https://login.example.com'] })
  await app.ready()
  t.notMatch(Object.keys(app.swagger().paths ?? {}).join(), /mcp/)
})

test('public actions need no credentials, and invalid ones are 401 nevertheless', async (t) => {
  const notes = define({
    name: 'notes',
    schema: Note,
    id,
    storage: memory(),
    access: {
      // As @fastify/jwt does.
      authenticate: ({ request }) => {
        if (request.headers.authorization === undefined) throw Object.assign(new Error('no token'), { statusCode: 401 })
        throw Object.assign(new Error('the token has expired'), { statusCode: 401 })
      },
      allow: { all: 'authenticated', list: 'public' }
    }
  }).with(idempotency())
  const app = await serveShop(t, { definitions: [notes] })
  const anonymous = await send(app, list)
  t.equal(anonymous.statusCode, 200)
  t.match(anonymous.body, /notes_list/)
  t.notMatch(anonymous.body, /notes_read/)
  const expired = await send(app, list, { headers: { authorization: 'Bearer old' } })
  t.equal(expired.statusCode, 401)
  t.match(expired.headers['www-authenticate'], /error="invalid_token"/)
})

test('mistakes of the app are refused at boot', async (t) => {
  type Definitions = McpOptions['collections']
  const boot = async (options: Partial<McpOptions> & { definitions?: Definitions, registered?: Definitions }) => {
    const { definitions = [secret], registered = definitions, ...own } = options
    const app = Fastify()
    t.after(() => app.close())
    for (const definition of registered) await app.register(collection, definition)
    await app.register(mcp, { collections: definitions, ...own })
    await app.ready()
  }
  const notes = { name: 'notes', schema: Note, id, storage: memory() } as const
  const hook = async () => {}
  const parent = define({ ...notes, name: 'books', storage: memory(), routes: { all: { onRequest: hook } } })
  const nested = define({ ...notes, routes: { all: { onRequest: hook } }, actions: ['read'], access: { allow: 'public' } })
    .with(within(parent, 'text'))
  const wrong: Array<[Parameters<typeof boot>[0], RegExp]> = [
    [{ definitions: [define(notes)] }, /an agent that repeats create of notes would do it twice.*Add the feature idempotency/],
    [{ definitions: [define(notes).with(idempotency({ actions: ['update'] }))] }, /repeats create of notes/],
    [{ definitions: [define({ ...notes, actions: ['read'] }).with(action('poke', { etag: { required: false }, run: () => {} }))] }, /repeats poke of notes/],
    [{ collections: [define(notes)] }, /does not serve the collection notes/],
    [{ collections: [] }, /collections is \[\]. Make it an array/],
    [{ collections: [{}] as never }, /collections is/],
    [{ definitions: [secret, define({ ...notes, access: { authenticate: () => 'x' } }).with(idempotency())] }, /notes and secrets do not have the same function access.authenticate/],
    [{ definitions: [define({ ...notes, actions: ['list', 'read'], routes: { all: { preHandler: hook } } })] }, /the hooks in the routes of notes do not run for agents.*who may call list/],
    [{ definitions: [define({ ...notes, routes: { all: { constraints: { version: '1.0.0' } } } }).with(idempotency())] }, /constraints/],
    [{ definitions: [define({ ...notes, name: 'no~tes' }).with(idempotency())] }, /no~tes_list is no name of a tool.*tools: 'shared'/],
    [{ definitions: [nested], registered: [parent, nested] }, /hooks in the routes of books.*who may call read/],
    [{ tools: 'all' as never }, /tools is "all". Make it "each" or "shared"/],
    [{ limit: 0 }, /limit is 0. Make it a whole number/],
    [{ callsPerMinute: 1.5 }, /callsPerMinute is 1.5/],
    [{ path: 'mcp' }, /path is "mcp". Make it a path such as "\/mcp"/],
    [{ hosts: ['https://api.example.com'] }, /hosts is .*without schemes/],
    [{ authorizationServers: ['login'] }, /authorizationServers is .*array of URLs/],
    [{ route: 1 as never }, /route is 1/],
    [{ hostz: [] } as never, /mcp has no option "hostz"/]
  ]
  for (const [options, message] of wrong) await t.rejects(boot(options), { code: 'FST_COLLECTION_BAD_MCP', message })

  const shared = define(notes).with(idempotency())
  const twice = Fastify()
  t.after(() => twice.close())
  await twice.register(collection, { ...shared, prefix: '/a' })
  await twice.register(collection, { ...shared, prefix: '/b' })
  await twice.register(mcp, { collections: [shared] })
  await t.rejects(async () => twice.ready(), { message: /notes is served at \/a\/notes and at \/b\/notes/ })

  const tenants = Fastify()
  t.after(() => tenants.close())
  await tenants.register(collection, { ...shared, prefix: '/:tenant' })
  await tenants.register(mcp, { collections: [shared] })
  await t.rejects(async () => tenants.ready(), { message: /at \/:tenant\/notes, have parameters/ })

  const prefixed = Fastify()
  t.after(() => prefixed.close())
  await t.rejects(async () => {
    await prefixed.register(collection, shared)
    await prefixed.register(mcp, { collections: [shared], prefix: '/api', authorizationServers: ['https://a.example'] })
  }, { message: /with path: "\/api\/mcp"/ })
})

test('two collections of one name are refused', async (t) => {
  const one = define({ name: 'notes', schema: Note, id, storage: memory() }).with(idempotency())
  const other = define({ name: 'notes', schema: Note, id, storage: memory() }).with(idempotency())
  const app = Fastify()
  t.after(() => app.close())
  await app.register(collection, one)
  await app.register(collection, { ...other, prefix: '/other' })
  await app.register(mcp, { collections: [one, other] })
  await t.rejects(async () => app.ready(), { message: /two collections have the name notes/ })
})

test('a collection that only reads needs no place for receipts', async (t) => {
  const notes = define({ name: 'notes', schema: Note, id, actions: ['list', 'read', 'update', 'remove'], storage: memory({ items: [{ id: 'a', text: 'x' }] }) })
  const agent = await connect(t, await listen(await serveShop(t, { definitions: [notes] })))
  const { tag } = (await agent.call('notes_read', { id: 'a' })).value
  t.match(await agent.call('notes_update', { id: 'a', tag, patch: { text: 'y' }, key: 'key-0001' }), {
    isError: true, value: { errors: [{ pointer: '/key' }] }
  })
  t.match(await agent.call('notes_update', { id: 'a', tag, patch: { text: 'y' } }), { value: { item: { text: 'y' } } })
})
