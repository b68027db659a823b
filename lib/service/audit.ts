import type { FastifyInstance } from 'fastify'
import type { ActionName } from '../action.ts'
import { AuditFailed } from '../errors.ts'
import type { RouteOptions } from '../options.ts'
import { registered } from '../registry.ts'
import { inspect, isOurs, otherCase } from './inspection.ts'
import type { Inspection } from './inspection.ts'

// What an app does to its collections without meaning to, found when it is ready. docs/service.md explains each.

interface Finding {
  /** What is wrong, or undefined. */
  readonly look: (seen: Inspection) => string | undefined
  readonly fix: string
}

/** QUERY is new: who leaves it out may well mean it. */
const methods: Readonly<Record<ActionName, string>> = { list: 'GET', create: 'POST', read: 'GET', replace: 'PUT', update: 'PATCH', remove: 'DELETE' }
const fields: Readonly<Partial<Record<ActionName, string>>> = { list: 'Link', create: 'Location', read: 'ETag', replace: 'ETag', update: 'ETag' }

/** Which of them a list in a field of CORS leaves out; none where there is no such field, since then nobody was meant to come. */
function missing (field: unknown, wanted: Iterable<string | undefined>): string | undefined {
  const named = String(field).toLowerCase().split(',').map(name => name.trim())
  const left = [...new Set(wanted)].filter(name => name !== undefined && !named.includes('*') && !named.includes(name.toLowerCase()))
  return left.length === 0 ? undefined : left.join(', ')
}

function limits ({ config }: RouteOptions): boolean {
  const { rateLimit } = Object(config) as { rateLimit?: unknown }
  return typeof rateLimit === 'object' && rateLimit !== null
}

export const findings: Readonly<Record<string, Finding>> = {
  FST_COLLECTION_AUDIT_CORS_METHODS: {
    look: ({ preflight: { headers: { 'access-control-allow-methods': allowed } }, collection: { actions } }) => {
      const left = allowed === undefined ? undefined : missing(allowed, [...actions].map(action => methods[action]))
      return left && `browsers of other origins are not allowed to use ${left}`
    },
    fix: 'Register @fastify/cors with ...corsOptions(), or with these methods'
  },
  FST_COLLECTION_AUDIT_CORS_FIELDS: {
    look: ({ refusal: { headers }, collection: { actions, attached: { dialects } } }) => {
      if (headers['access-control-allow-origin'] === undefined) return undefined
      const left = missing(headers['access-control-expose-headers'], [...[...actions].map(action => fields[action]), ...dialects.length > 0 ? ['X-Total-Count'] : []])
      return left && `scripts of other origins do not get to see ${left}`
    },
    fix: 'Register @fastify/cors with ...corsOptions(), or with these exposedHeaders'
  },
  FST_COLLECTION_AUDIT_CORS_OPTIONS: {
    look: ({ options: { statusCode } }) => statusCode === 400 ? 'an OPTIONS that is no preflight is 400' : undefined,
    fix: 'Register @fastify/cors with ...corsOptions(), or with strictPreflight: false'
  },
  FST_COLLECTION_AUDIT_ETAG: {
    look: ({ refusal: { headers } }) => headers.etag === undefined ? undefined : 'a plugin gives problems entity tags, and with them answers 304 to what was never stored',
    fix: 'Register @fastify/etag in a scope of its own, beside the collections'
  },
  FST_COLLECTION_AUDIT_RATE_LIMIT: {
    look: ({ collection: { routes }, after }) => !after.rateLimit && Object.values(routes).some(limits) ? 'routes has config.rateLimit, but @fastify/rate-limit was not there when the collection was registered' : undefined,
    fix: 'Register @fastify/rate-limit before the collection, and await it'
  },
  FST_COLLECTION_AUDIT_ROUTER_CASE: {
    look: ({ cased, collection: { name } }) => isOurs(cased) && otherCase(name) !== name ? 'it is served in letters of the other case too, so that each item has many URIs and caches keep what was changed by another' : undefined,
    fix: 'Leave caseSensitive of the router as it is'
  },
  FST_COLLECTION_AUDIT_SWAGGER: {
    look: ({ described, after }) => described && !after.swagger ? '@fastify/swagger came later, so that its document says nothing of the collection' : undefined,
    fix: 'Register @fastify/swagger before the collection, and await it'
  }
}

interface Manner {
  readonly strict: boolean
  /** From where a browser would come. */
  readonly origin: string
}

export async function audit (app: FastifyInstance, { strict, origin }: Manner): Promise<void> {
  const told: string[] = []
  for (const served of registered(app)) {
    const seen = await inspect(app, served, origin)
    if (seen === undefined) continue
    for (const [code, { look, fix }] of Object.entries(findings)) {
      const found = look(seen)
      if (found === undefined) continue
      const sentence = `${served.path}: ${found}. ${fix}.`
      told.push(`${code}: ${sentence}`)
      if (!strict) app.log.warn({ code }, sentence)
    }
  }
  if (strict && told.length > 0) throw new AuditFailed(told.join(' '))
}
