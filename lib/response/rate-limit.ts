import type { FastifyInstance, FastifyReply, onSendHookHandler } from 'fastify'
import { formatRateLimit, formatRateLimitPolicy } from '../http/rate-limit.ts'
import type { Quota } from '../http/rate-limit.ts'

/** The headers of @fastify/rate-limit begin with one of these, depending on its options. */
const prefixes = ['x-ratelimit-', 'ratelimit-'] as const

function readQuota (reply: FastifyReply): Quota | undefined {
  const prefix = prefixes.find((prefix) => (
    reply.hasHeader(`${prefix}limit`) &&
    reply.hasHeader(`${prefix}remaining`) &&
    reply.hasHeader(`${prefix}reset`)
  ))
  if (prefix === undefined) return undefined
  const { rateLimit } = reply.routeOptions.config as { rateLimit?: { timeWindow?: unknown } }
  return {
    limit: Number(reply.getHeader(`${prefix}limit`)),
    remaining: Number(reply.getHeader(`${prefix}remaining`)),
    reset: Number(reply.getHeader(`${prefix}reset`)),
    window: typeof rateLimit?.timeWindow === 'number' ? Math.ceil(rateLimit.timeWindow / 1000) : undefined
  }
}

const addQuota: onSendHookHandler = function (_request, reply, payload, done) {
  const quota = readQuota(reply)
  if (quota !== undefined) {
    reply.header('ratelimit', formatRateLimit(quota))
    reply.header('ratelimit-policy', formatRateLimitPolicy(quota))
  }
  done(null, payload)
}

/** Adds the standard headers if @fastify/rate-limit is registered. It limits only routes that come after it. */
export function addRateLimitHeaders (app: FastifyInstance): void {
  if (app.hasDecorator('rateLimit')) app.addHook('onSend', addQuota)
}
