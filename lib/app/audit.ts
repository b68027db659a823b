import type { FastifyInstance } from 'fastify'
import type { ActionName } from '../engine/action.ts'
import { AuditFailed } from '../errors/errors.ts'
import type { RouteOptions } from '../engine/definition.ts'
import { getRegistered } from '../engine/registry.ts'
import { inspectCollection, isProblem, swapCase } from './inspection.ts'
import type { Inspection } from './inspection.ts'
import type { ServiceSettings } from './options.ts'

// Finds mistakes in the setup of the app around its collections, when the app is ready. docs/service.md explains each.

interface AuditRule {
  /** Returns what is wrong; undefined if nothing is. */
  readonly check: (inspection: Inspection) => string | undefined
  readonly fix: string
}

/** Without QUERY: it is new, and an app may leave it out on purpose. */
const methodsByAction: Readonly<Record<ActionName, string>> = {
  list: 'GET',
  create: 'POST',
  read: 'GET',
  replace: 'PUT',
  update: 'PATCH',
  remove: 'DELETE'
}

/** The response headers that scripts need. */
const headersByAction: Readonly<Partial<Record<ActionName, string>>> = {
  list: 'Link',
  create: 'Location',
  read: 'ETag',
  replace: 'ETag',
  update: 'ETag'
}

/** Returns the names that the list in a CORS header does not contain, separated by commas; undefined if it has all. */
function findMissing (header: unknown, wanted: Iterable<string | undefined>): string | undefined {
  const listed = String(header).toLowerCase().split(',').map((name) => name.trim())
  if (listed.includes('*')) return undefined
  const missing = [...new Set(wanted)].filter((name) => name !== undefined && !listed.includes(name.toLowerCase()))
  return missing.length === 0 ? undefined : missing.join(', ')
}

function getRateLimit (route: RouteOptions | undefined): unknown {
  const { rateLimit } = Object(route?.config) as { rateLimit?: unknown }
  return rateLimit
}

function hasRateLimit (route: RouteOptions): boolean {
  const rateLimit = getRateLimit(route)
  return typeof rateLimit === 'object' && rateLimit !== null
}

export const auditRules: Readonly<Record<string, AuditRule>> = {
  FST_COLLECTION_AUDIT_CORS_METHODS: {
    check: ({ preflight: { headers }, collection: { actions, attached } }) => {
      const allowed = headers['access-control-allow-methods']
      // Without the header, the app does not allow other origins at all.
      if (allowed === undefined) return undefined
      const custom = attached.actions.size > 0 ? ['POST'] : []
      const missing = findMissing(allowed, [...[...actions].map((action) => methodsByAction[action]), ...custom])
      return missing && `CORS does not allow ${missing} from other origins`
    },
    fix: 'Register @fastify/cors with ...corsOptions(), or with these methods'
  },
  FST_COLLECTION_AUDIT_CORS_FIELDS: {
    check: ({ refusal: { headers }, collection: { actions, attached } }) => {
      if (headers['access-control-allow-origin'] === undefined) return undefined
      const wanted = [...actions].map((action) => headersByAction[action])
      // The response has the item.
      if ([...attached.actions.values()].some(({ at, output }) => at === 'item' && output === undefined)) {
        wanted.push('ETag')
      }
      const missing = findMissing(headers['access-control-expose-headers'], wanted)
      return missing && `CORS does not expose ${missing} to scripts of other origins`
    },
    fix: 'Register @fastify/cors with ...corsOptions(), or with these exposedHeaders'
  },
  FST_COLLECTION_AUDIT_CORS_OPTIONS: {
    check: ({ options: { statusCode = 0, headers } }) => {
      if (statusCode === 400) return 'OPTIONS requests that are not preflights get 400'
      return statusCode < 300 && headers.allow === undefined
        ? 'OPTIONS requests that are not preflights do not reach the collection'
        : undefined
    },
    fix: 'Register @fastify/cors with ...corsOptions(), or with strictPreflight: false, instead of a middleware'
  },
  FST_COLLECTION_AUDIT_COMPRESS: {
    check: ({ hasCompress, after }) => (
      hasCompress && !after.compress
        ? '@fastify/compress was registered after the collection, so that its responses are not compressed'
        : undefined
    ),
    fix: 'Register @fastify/compress before the collection, and await it'
  },
  FST_COLLECTION_AUDIT_ETAG: {
    check: ({ refusal: { headers } }) => (
      headers.etag === undefined
        ? undefined
        : 'a plugin adds entity tags to problems, so that clients get 304 instead of a problem'
    ),
    fix: 'Register @fastify/etag in a scope of its own, beside the collections'
  },
  FST_COLLECTION_AUDIT_RATE_LIMIT: {
    check: ({ collection: { http: { routes }, attached }, after, hasRateLimiter }) => {
      if (after.rateLimit) return undefined
      const custom = [...attached.actions.values()].find(({ route }) => hasRateLimit(route))
      if (custom === undefined && !Object.values(routes).some(hasRateLimit)) {
        return hasRateLimiter && getRateLimit(routes.all) !== false
          ? '@fastify/rate-limit was registered after the collection, so that its requests are not limited'
          : undefined
      }
      const place = custom === undefined ? 'routes' : `action("${custom.name}")`
      return `${place} has config.rateLimit, but @fastify/rate-limit was not registered before the collection`
    },
    fix: 'Register @fastify/rate-limit before the collection, and await it'
  },
  FST_COLLECTION_AUDIT_ROUTER_CASE: {
    check: ({ caseSwapped, collection: { name } }) => (
      isProblem(caseSwapped) && swapCase(name) !== name
        ? 'the router ignores case, so that each item has several URIs, and caches keep old copies under the others'
        : undefined
    ),
    fix: 'Leave caseSensitive of the router at its default'
  },
  FST_COLLECTION_AUDIT_SWAGGER: {
    check: ({ hasSwagger, after }) => (
      hasSwagger && !after.swagger
        ? '@fastify/swagger was registered after the collection, so that its document does not contain the collection'
        : undefined
    ),
    fix: 'Register @fastify/swagger before the collection, and await it'
  }
}

type AuditSettings = Exclude<ServiceSettings['audit'], false>

/**
 * Raises the level `info` of the log while `work` runs. Otherwise its requests, such as `DELETE /users` before the
 * server listens, look like those of an attacker. At other levels, the app does not log requests or wants to see all.
 */
async function withoutInfo<Result> (log: object, work: () => Promise<Result>): Promise<Result> {
  const level: unknown = Reflect.get(log, 'level')
  if (level !== 'info') return work()
  // A logger of the app may have a level that cannot be set.
  Reflect.set(log, 'level', 'warn')
  try {
    return await work()
  } finally {
    Reflect.set(log, 'level', level)
  }
}

/** Checks all collections of the app. Findings are logged; with `strict` they are thrown. */
export async function audit (app: FastifyInstance, { strict }: AuditSettings): Promise<void> {
  const findings: string[] = []
  for (const served of getRegistered(app)) {
    const inspection = await withoutInfo(app.log, () => inspectCollection(app, served))
    if (inspection === undefined) continue
    for (const [code, { check, fix }] of Object.entries(auditRules)) {
      const mistake = check(inspection)
      if (mistake === undefined) continue
      const message = `${served.path}: ${mistake}. ${fix}.`
      findings.push(`${code}: ${message}`)
      if (!strict) app.log.warn({ code }, message)
    }
  }
  if (strict && findings.length > 0) throw new AuditFailed(findings.join(' '))
}
