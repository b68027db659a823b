import type { FastifyInstance, FastifyReply, onSendHookHandler } from 'fastify'
import { rateLimit, rateLimitPolicy } from '../http/rate-limit.ts'
import type { Quota } from '../http/rate-limit.ts'

/** @fastify/rate-limit tells of its limits in fields of its own, in one of two spellings. */
const spellings = ['x-ratelimit-', 'ratelimit-'] as const

function quotaOf (reply: FastifyReply): Quota | undefined {
  const spelling = spellings.find(prefix => reply.hasHeader(`${prefix}limit`) && reply.hasHeader(`${prefix}remaining`) && reply.hasHeader(`${prefix}reset`))
  if (spelling === undefined) return undefined
  const { rateLimit } = reply.routeOptions.config as { rateLimit?: { timeWindow?: unknown } }
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map(name => Number(reply.getHeader(spelling + name))) as [number, number, number]
  return { limit, remaining, reset, window: typeof rateLimit?.timeWindow === 'number' ? Math.ceil(rateLimit.timeWindow / 1000) : undefined }
}

const tellQuota: onSendHookHandler = function (_request, reply, payload, done) {
  const quota = quotaOf(reply)
  if (quota !== undefined) reply.header('ratelimit', rateLimit(quota)).header('ratelimit-policy', rateLimitPolicy(quota))
  done(null, payload)
}

/** Only where the plugin is there already: it limits none of the routes that came before it. */
export function tellQuotas (app: FastifyInstance): void {
  if (app.hasDecorator('rateLimit')) app.addHook('onSend', tellQuota)
}
