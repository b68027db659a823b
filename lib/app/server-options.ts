import type { Server } from 'node:http'
import type { Http2SecureServer, Http2Server } from 'node:http2'
import type { Server as HttpsServer } from 'node:https'
import type {
  FastifyError,
  FastifyHttp2Options,
  FastifyHttp2SecureOptions,
  FastifyHttpOptions,
  FastifyHttpsOptions,
  FastifyReply,
  FastifyRequest
} from 'fastify'
import { BadService } from '../errors/errors.ts'
import { logFailure } from '../errors/failure.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import { getServiceInfo } from '../engine/registry.ts'
import { handleParserError } from './parser-errors.ts'
import { sendProblem } from './reply.ts'

type AppOptions =
  | FastifyHttpOptions<Server>
  | FastifyHttpsOptions<HttpsServer>
  | FastifyHttp2Options<Http2Server>
  | FastifyHttp2SecureOptions<Http2SecureServer>

/** What `serverOptions` reads of the options of an app. */
interface OwnOptions {
  readonly http?: object | null
  readonly https?: object | boolean | null
  readonly http2?: boolean
  readonly requestTimeout?: number
  readonly clientErrorHandler?: unknown
  readonly frameworkErrors?: unknown
  readonly serverFactory?: unknown
}

const defaultTimeout = 60_000

/**
 * Returns options for `Fastify()`: those of the app, and beside them a timeout for requests, a limit of requests at the
 * same time on a connection of HTTP/2, and problems for what the HTTP parser and the router refuse. What the app sets
 * itself stays as it is. Register `service` as well.
 *
 * @example
 * const app = Fastify(serverOptions({ logger: true, trustProxy: true }))
 * await app.register(service)
 */
export function serverOptions<const Options extends AppOptions = FastifyHttpOptions<Server>> (
  options?: Options
): Options {
  const own: OwnOptions = options ?? {}
  if (own.serverFactory !== undefined) {
    throw new BadService('serverOptions() cannot set limits of a server that serverFactory creates. ' +
      'Set them in serverFactory, and pass the options of the app to Fastify without serverOptions().')
  }
  const { requestTimeout = defaultTimeout } = own
  const limits = own.http2 === true ? { settings: { maxConcurrentStreams: 100 } } : getTimeouts(requestTimeout)
  // Fastify ignores `http` if there is `https`.
  const secure = own.https === true || typeof own.https === 'object' ? own.https : null
  return {
    ...own,
    requestTimeout,
    clientErrorHandler: own.clientErrorHandler ?? handleParserError,
    frameworkErrors: own.frameworkErrors ?? sendFrameworkError,
    ...secure === null ? { http: merge(limits, own.http) } : { https: merge(limits, secure) }
    // The compiler cannot know that these are options of each kind of server.
  } as unknown as Options
}

/** The server checks every 30 seconds, or ten times within a shorter timeout. Zero means no timeout. */
function getTimeouts (requestTimeout: number): object {
  // The service responds to a request without Host itself.
  if (requestTimeout === 0) return { requireHostHeader: false }
  return {
    requireHostHeader: false,
    headersTimeout: Math.min(defaultTimeout, requestTimeout),
    connectionsCheckingInterval: Math.min(30_000, Math.ceil(requestTimeout / 10))
  }
}

/** Adds limits to options of a server. Those that the app has set, also of HTTP/2, take precedence. */
function merge (limits: object, own: object | true | null | undefined): object {
  const given: { settings?: object } = own === true ? {} : own ?? {}
  const { settings }: { settings?: object } = limits
  return { ...limits, ...given, ...settings && { settings: { ...settings, ...given.settings } } }
}

const problemsByCode: Readonly<Record<string, () => Problem>> = {
  FST_ERR_BAD_URL: () => problem('bad-request', {
    detail: 'The path has a percent sign without two hexadecimal digits.'
  }),
  FST_ERR_MAX_PARAM_LENGTH: () => problem('uri-too-long', { detail: 'A segment of the path is too long.' })
}

/**
 * Responds to what the router of Fastify refuses. Hooks do not run for these errors, so that no plugin can add headers:
 * scripts of any origin may read the response, which says nothing about the service.
 */
function sendFrameworkError (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  const refusal = problemsByCode[error.code]?.() ?? problem('internal-error')
  logFailure(request.log, error, refusal)
  reply.header('access-control-allow-origin', '*')
  sendProblem(refusal, getServiceInfo(request.server).problems, reply)
}
