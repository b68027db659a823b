import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { getCallerId } from '../../engine/access/caller.ts'
import { identify } from '../../engine/access/identify.ts'
import { toCollection } from '../../engine/collection.ts'
import { getRegistered } from '../../engine/registry.ts'
import { mergeRouteOptions } from '../../engine/route-options.ts'
import { BadMcp } from '../../errors/errors.ts'
import { problem } from '../../http/problems.ts'
import { hiddenSchema } from '../../openapi/summary.ts'
import type { AgentAction } from './actions.ts'
import type { AgentRequest } from './call.ts'
import { CallLimit } from './call-limit.ts'
import { readOptions } from './options.ts'
import type { McpOptions } from './options.ts'
import { createSource, parseBody, prepareContext, toWebRequest } from './requests.ts'
import { findServedActions } from './served.ts'
import { createServer } from './server.ts'
import type { Protocol } from './server.ts'
import { createSevenTools } from './seven-tools.ts'
import { canCallAny, createEachTools } from './tools.ts'
import type { Tools } from './tools.ts'

/** More tools would take much of the context of a model. */
const maxEachTools = 30

async function plugin (app: FastifyInstance, options: McpOptions): Promise<void> {
  const settings = readOptions(options)
  const { path, limit, authorizationServers } = settings
  const hosts = [...settings.hosts]
  const protocol = await importProtocol()
  const { access, http: { challenge } } = toCollection(settings.collections[0]!)
  const callLimit = new CallLimit(settings.callsPerMinute)
  let actions: readonly AgentAction[]
  let tools: Tools
  app.addHook('onReady', async () => {
    actions = findServedActions(settings.collections, getRegistered(app))
    const kind = settings.tools ?? (actions.length > maxEachTools ? 'shared' : 'each')
    tools = kind === 'each' ? createEachTools(actions) : createSevenTools(actions)
  })

  async function getCallerName ({ request }: AgentRequest): Promise<string> {
    const { caller } = access === undefined ? { caller: undefined } : await identify(access, request)
    return caller === undefined ? `address ${request.ip}` : `caller ${JSON.stringify(getCallerId(caller))}`
  }

  const sources = new WeakMap<Request, AgentRequest>()
  // Called for each request.
  const handler = protocol.createMcpHandler(({ requestInfo }) => {
    return createServer(protocol, sources.get(requestInfo!)!, { tools, limit: callLimit, getCallerName })
  }, { onerror: (err) => app.log.info({ err }, 'a request of an agent was refused') })
  app.addHook('preClose', () => handler.close())

  /** 403 for a request that a page of another site has sent, or to a name of that site. */
  async function checkHost ({ headers }: FastifyRequest): Promise<void> {
    // That of the connection: a page can send X-Forwarded-Host. HTTP/2 has another header.
    const host = protocol.validateHostHeader(headers.host ?? String(headers[':authority']), hosts)
    const origin = protocol.validateOriginHeader(headers.origin, hosts)
    const refused = [host, origin].find(({ ok }) => !ok)
    if (refused?.ok === false) throw problem('forbidden', { detail: `${refused.message}. The app states its hosts.` })
  }

  /** 401 for a caller whose credentials are invalid, or that can do nothing without. */
  async function checkCaller (request: FastifyRequest): Promise<void> {
    if (access?.authenticate === undefined) return
    const { caller, refusal } = await identify(access, request)
    // Some functions also refuse a request without credentials, which public actions do not need.
    const hasCredentials = access.vary.some((name) => request.headers[name.toLowerCase()] !== undefined)
    if (refusal !== undefined && hasCredentials) throw refusal
    if (caller === undefined && !await canCallAny(actions, request)) throw refusal ?? problem('unauthenticated')
  }

  async function handle (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const source = createSource(request, reply, limit)
    const web = toWebRequest(request, source.signal)
    sources.set(web, source)
    return reply.send(await handler.fetch(web, { parsedBody: parseBody(request.body) }))
  }

  const getUrl = ({ protocol: scheme, host }: FastifyRequest) => new URL(`${scheme}://${host}${app.prefix}${path}`)
  const hasMetadata = authorizationServers.length > 0
  prepareContext(app, {
    path,
    getChallenge (request) {
      if (!hasMetadata) return challenge
      const metadata = protocol.getOAuthProtectedResourceMetadataUrl(getUrl(request))
      return `${challenge}${challenge.includes(' ') ? ',' : ''} resource_metadata="${metadata}"`
    }
  })
  app.route({
    ...mergeRouteOptions({ onRequest: checkHost }, settings.route, { onRequest: checkCaller }),
    // GET and DELETE are those of sessions, which the handler refuses.
    method: ['POST', 'GET', 'DELETE'],
    url: path,
    exposeHeadRoute: false,
    schema: hiddenSchema,
    handler: handle
  })
  if (!hasMetadata) return
  if (app.prefix !== '') {
    throw new BadMcp('authorizationServers is stated, but the metadata of RFC 9728 is served at the root, and the ' +
      `plugin has the prefix ${app.prefix}. Register it without a prefix, with path: "${app.prefix}${path}".`)
  }
  const metadata = { onRequest: checkHost, schema: hiddenSchema }
  app.get(`/.well-known/oauth-protected-resource${path}`, metadata, async (request) => ({
    resource: getUrl(request).href,
    authorization_servers: authorizationServers,
    bearer_methods_supported: ['header']
  }))
}

/** Loaded by apps that use the plugin: it is an optional peer dependency. */
async function importProtocol (): Promise<Protocol> {
  return import('@modelcontextprotocol/server').catch((cause: unknown) => {
    const error = new BadMcp('the package @modelcontextprotocol/server cannot be loaded. ' +
      'Install it: npm install @modelcontextprotocol/server')
    throw Object.assign(error, { cause })
  })
}

/**
 * Serves collections as tools for agents, at `POST /mcp` (Model Context Protocol). Needs the package
 * `@modelcontextprotocol/server`.
 *
 * @example
 * await app.register(mcp, { collections: [orders, products], hosts: ['api.example.com'] })
 */
export const mcp = fastifyPlugin(plugin, { name: 'fastify-collections-mcp', fastify: '5.x', encapsulate: true })

export type { McpOptions } from './options.ts'
