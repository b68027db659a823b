import type { FastifyInstance } from 'fastify'
import collection from 'fastify-collections'
import { within } from 'fastify-collections/within'

export default async function routes (app: FastifyInstance): Promise<void> {
  const { authors, articles, comments } = app.definitions
  await app.register(collection, authors)
  await app.register(collection, articles)
  // The same articles by author: /authors/{id}/articles.
  await app.register(collection, articles.with(within(authors, 'authorId')))
  // /articles/{id}/comments
  await app.register(collection, comments.with(within(articles, 'articleId')))
}
