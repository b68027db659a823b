import type { FastifyInstance } from 'fastify'
import collection from 'fastify-collections'

export default async function users (app: FastifyInstance): Promise<void> {
  await app.register(collection, app.definitions.users)
}
