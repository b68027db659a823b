import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { hiddenSchema } from '../openapi/summary.ts'
import { BadMove } from '../errors.ts'
import { formatValue } from '../format-value.ts'
import { buildCacheControl, toCachePolicy } from '../http/cache-control.ts'
import { formatLocation } from '../http/location.ts'
import { normalizePath } from '../request/request.ts'
import { registerOptions } from '../routes/route-options.ts'

/** The options of the plugin `moved`. */
export interface MovedOptions {
  /** The old path, below the prefix. */
  from: string
  /** The new path, below the prefix; or an absolute URI. */
  to: string
  /**
   * The status of the response. After 308, clients repeat the request with its method and content.
   *
   * @default 301
   * @example
   * app.register(moved, { from: '/people', to: '/users', status: 308 })
   */
  status?: 301 | 308
}

/** A path below the root, without parameters. */
const pathPattern = /^(\/[\w~-][\w.~-]*)+$/

const optionNames = ['from', 'to', 'status']

function checkOptions ({ from, to, status, ...others }: Required<MovedOptions>): void {
  if (typeof from !== 'string' || !pathPattern.test(from)) {
    throw new BadMove(formatValue(from), 'from is not a path. Use one such as "/people".')
  }
  if (typeof to !== 'string' || !(pathPattern.test(to) || isAbsoluteUri(to))) {
    throw new BadMove(
      from,
      `to is ${formatValue(to)}. Use a path, such as "/users", ` +
        'or an absolute URI without a query, such as "https://example.com/users".'
    )
  }
  if (status !== 301 && status !== 308) {
    throw new BadMove(from, `status is ${formatValue(status)}. Use 301 or 308.`)
  }
  const unknown = Object.keys(others).find((name) => !registerOptions.includes(name))
  if (unknown !== undefined) {
    throw new BadMove(from, `there is no option "${unknown}". Available options: ${optionNames.join(', ')}.`)
  }
}

async function plugin (app: FastifyInstance, options: MovedOptions): Promise<void> {
  const { from, to, status = 301 } = options
  checkOptions({ ...options, status })
  const isLocal = pathPattern.test(to)
  if (isLocal) checkLoop(app, { from: app.prefix + from, to: app.prefix + to })
  const prefixDepth = splitPath(app.prefix).length
  const fromDepth = splitPath(from).length

  /** Keeps the prefix, the rest of the path and the query as the client sent them. */
  function buildTarget ({ url }: FastifyRequest): string {
    const segments = splitPath(normalizePath(url))
    const rest = segments.slice(prefixDepth + fromDepth)
    const mark = url.indexOf('?')
    const [query = ''] = mark < 0 ? [] : url.slice(mark + 1).split('#')
    const target = isLocal
      ? ['', ...segments.slice(0, prefixDepth), ...splitPath(to), ...rest]
      : [to.replace(/\/$/, ''), ...rest]
    return formatLocation(target.join('/'), query)
  }

  async function redirect (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { authorization, cookie } = request.headers
    const safe = request.method === 'GET' || request.method === 'HEAD'
    const credentials = authorization !== undefined || cookie !== undefined
    reply.code(status).headers({
      location: buildTarget(request),
      'cache-control': buildCacheControl({ safe, status, credentials }, toCachePolicy(undefined)),
      'content-length': '0'
    })
    return reply.send()
  }

  for (const url of [from, `${from}/*`]) {
    try {
      app.route({
        method: app.supportedMethods as HTTPMethods[],
        url,
        schema: hiddenSchema,
        exposeHeadRoute: false,
        // Responds before the content is read.
        onRequest: redirect,
        handler: redirect
      })
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'FST_ERR_DUPLICATED_ROUTE') throw error
      throw new BadMove(from, `another route already serves ${app.prefix}${url}. Remove one of them.`)
    }
  }
}

function splitPath (path: string): string[] {
  return path.split('/').filter((segment) => segment !== '')
}

function isAbsoluteUri (uri: string): boolean {
  if (!/^https?:\/\//.test(uri) || !URL.canParse(uri)) return false
  const { search, hash, username } = new URL(uri)
  return search + hash + username === ''
}

interface Move {
  readonly from: string
  readonly to: string
}

/** By server, which all contexts of an app share. */
const movesByServer = new WeakMap<object, Move[]>()

/** Refuses redirects that lead back to themselves, also by way of others. */
function checkLoop (app: FastifyInstance, move: Move): void {
  const moves = [...movesByServer.get(app.server) ?? [], move]
  const visited = new Set<Move>()
  let next: Move | undefined = move
  while (next !== undefined) {
    if (visited.has(next)) {
      throw new BadMove(
        move.from,
        `to is ${formatValue(move.to)}, which redirects to ${formatValue(move.from)} again. ` +
          'Use a path that is not redirected back.'
      )
    }
    visited.add(next)
    const target: string = `${next.to}/`
    next = moves.find(({ from }) => target.startsWith(`${from}/`))
  }
  movesByServer.set(app.server, moves)
}

/**
 * Redirects everything below a path to another one, with the rest of the path and the query.
 *
 * @example
 * await app.register(moved, { from: '/people', to: '/users' })
 */
export const moved = fastifyPlugin(plugin, { name: 'fastify-collections-moved', fastify: '5.x', encapsulate: true })
