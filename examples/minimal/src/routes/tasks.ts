import type { FastifyInstance } from 'fastify'
import collection from 'fastify-collections'

export default async function routes (app: FastifyInstance): Promise<void> {
  await app.register(collection, app.definitions.tasks)
  app.log.warn('Everyone may read and write tasks. Set "access" in src/tasks.ts before you deploy.')
}
