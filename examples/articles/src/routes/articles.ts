import type { FastifyInstance } from 'fastify'
import collection from 'fastify-collections'
import { within } from 'fastify-collections/within'
import { articles } from '../articles.ts'
import { authors } from '../authors.ts'
import { createAuthenticate } from '../callers.ts'
import { slugs } from '../slugs.ts'

export default async function routes (app: FastifyInstance): Promise<void> {
  const authenticate = createAuthenticate(app.config)
  const people = await authors(app.database, authenticate)
  const texts = await articles(app.database, { authenticate, authors: people, slugs: await slugs(app.database) })
  await app.register(collection, people)
  await app.register(collection, texts)
  // The same articles by author: /authors/{id}/articles.
  await app.register(collection, texts.with(within(people, 'authorId')))
}
