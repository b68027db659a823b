import type { Server } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Adapter } from '../lib/storage/contract.ts'
import type { User } from './user.ts'

interface App {
  open(): FastifyInstance
  add(app: FastifyInstance, name: string, adapter: Adapter<User>): void
}

interface StandaloneServer {
  start(): Promise<Server>
}

/** One file for each contestant, loaded only in its own process. */
export const contestants: Record<string, () => Promise<App | StandaloneServer>> = {
  node: () => import('./contestants/node.ts'),
  plain: () => import('./contestants/plain.ts'),
  features: () => import('./contestants/features.ts'),
  ours: () => import('./contestants/ours.ts')
}

/** Other setups of the library, for comparisons of two checkouts. */
export const setups: Record<string, () => Promise<App>> = {
  action: () => import('./contestants/action.ts'),
  batch: () => import('./contestants/batch.ts'),
  'five-features': () => import('./contestants/five-features.ts'),
  'fifty-collections': () => import('./contestants/fifty-collections.ts'),
  zod: async () => (await import('./contestants/schemas.ts')).zod,
  'zod-refined': async () => (await import('./contestants/schemas.ts')).refined,
  valibot: async () => (await import('./contestants/schemas.ts')).valibot,
  arktype: async () => (await import('./contestants/schemas.ts')).arktype
}

/**
 * Of bench/relations.ts, in bench/related-server.ts: the library, and the same statements hand-written, without and
 * with the headers of the library.
 */
export const relatedContestants = ['related', 'related plain', 'related features'] as const

export async function app (name: string): Promise<App> {
  const contestant = await contestants[name]?.()
  if (contestant === undefined || !('open' in contestant)) {
    throw new Error(`${name} is not a contestant with collections`)
  }
  return contestant
}

export async function start (name: string, adapter: Adapter<User>): Promise<Server> {
  const contestant = await (contestants[name] ?? setups[name])?.()
  if (contestant === undefined) throw new Error(`${name} is not a contestant: ${Object.keys(contestants).join(', ')}`)
  if ('start' in contestant) return contestant.start()
  const fastify = contestant.open()
  contestant.add(fastify, 'users', adapter)
  await fastify.listen({ port: 0, host: '127.0.0.1' })
  return fastify.server
}
