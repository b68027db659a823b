import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { hidden } from '../openapi/summary.ts'
import { BadMove } from '../errors.ts'
import { cacheControl, cachePolicy } from '../http/cache-control.ts'
import { location } from '../http/location.ts'
import { pathOf } from '../request/request.ts'

export interface MovedOptions {
  /** The path that was, below the prefix. */
  from: string
  /** The path that is, below the prefix; or an absolute URI. */
  to: string
  status?: 301 | 308
}

/** A path of its own, below the root, without parameters. */
const path = /^(\/[\w~-][\w.~-]*)+$/

async function plugin (app: FastifyInstance, { from, to, status = 301 }: MovedOptions): Promise<void> {
  if (typeof from !== 'string' || !path.test(from)) throw new BadMove(JSON.stringify(from), 'from is not a path. Use one such as "/people".')
  if (typeof to !== 'string' || !(path.test(to) || isElsewhere(to))) throw new BadMove(from, `to is ${JSON.stringify(to)}. Use a path, such as "/users", or an absolute URI without a query, such as "https://example.com/users".`)
  if (status !== 301 && status !== 308) throw new BadMove(from, `status is ${JSON.stringify(status)}. Use 301 or 308.`)
  if (path.test(to)) checkCircle(app, { from: app.prefix + from, to: app.prefix + to })
  const depth = { prefix: segmentsOf(app.prefix).length, from: segmentsOf(from).length }

  /** What lies in front of the path that moved, and behind it, goes along as it was sent. */
  function target ({ url }: FastifyRequest): string {
    const sent = segmentsOf(pathOf(url))
    const rest = sent.slice(depth.prefix + depth.from)
    const [query = ''] = url.slice(url.indexOf('?') < 0 ? url.length : url.indexOf('?') + 1).split('#')
    const whole = path.test(to) ? ['', ...sent.slice(0, depth.prefix), ...segmentsOf(to), ...rest] : [to.replace(/\/$/, ''), ...rest]
    return location(whole.join('/'), query)
  }

  async function lead (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { authorization, cookie } = request.headers
    const answer = { safe: request.method === 'GET' || request.method === 'HEAD', status, credentials: authorization !== undefined || cookie !== undefined }
    return reply.code(status).headers({ location: target(request), 'cache-control': cacheControl(answer, cachePolicy(undefined)), 'content-length': '0' }).send()
  }

  for (const url of [from, `${from}/*`]) {
    try {
      // Before content is read.
      app.route({ method: app.supportedMethods as HTTPMethods[], url, schema: hidden, exposeHeadRoute: false, onRequest: lead, handler: lead })
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'FST_ERR_DUPLICATED_ROUTE') throw error
      throw new BadMove(from, `another route serves ${app.prefix}${url} already. What has moved is not here any more: take one of them away.`)
    }
  }
}

function segmentsOf (path: string): string[] {
  return path.split('/').filter(segment => segment !== '')
}

function isElsewhere (to: string): boolean {
  if (!/^https?:\/\//.test(to) || !URL.canParse(to)) return false
  const { search, hash, username } = new URL(to)
  return search + hash + username === ''
}

interface Move { readonly from: string, readonly to: string }

// By server, which all contexts of an app share.
const known = new WeakMap<object, Move[]>()

/** Whoever follows has to arrive. */
function checkCircle (app: FastifyInstance, move: Move): void {
  const moves = [...known.get(app.server) ?? [], move]
  const visited = new Set<Move>()
  for (let next: Move | undefined = move; next !== undefined; next = moves.find(({ from }) => `${next!.to}/`.startsWith(`${from}/`))) {
    if (visited.has(next)) throw new BadMove(move.from, `to is ${JSON.stringify(move.to)}, which leads to ${JSON.stringify(move.from)} again, so that nobody would arrive. Lead to a path that lies elsewhere.`)
    visited.add(next)
  }
  known.set(app.server, moves)
}

/**
 * Redirects everything below a path to another one, with the rest of the path and the query.
 *
 * @example
 * await app.register(moved, { from: '/people', to: '/users' })
 */
export const moved = fastifyPlugin(plugin, { name: 'fastify-collections-moved', fastify: '5.x', encapsulate: true })
