import type { FastifyInstance } from 'fastify'
import collection from 'fastify-collections'
import { createAuthenticate } from '../callers.ts'
import { products } from '../products.ts'

export default async function routes (app: FastifyInstance): Promise<void> {
  await app.register(collection, await products(app.pool, createAuthenticate(app.config)))
}
