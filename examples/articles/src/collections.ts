import { relate } from 'fastify-collections/relations'
import { defineArticles } from './articles.ts'
import { defineAuthors } from './authors.ts'
import { createAuthenticate } from './callers.ts'
import type { Config } from './config.ts'
import type { Database } from './database.ts'
import { createSlugs, defineSlugs } from './slugs.ts'

/** The definitions of all collections. */
export function createCollections (database: Database, config: Config) {
  const authenticate = createAuthenticate(config)
  const slugs = defineSlugs(database)
  const { authors, articles } = relate({
    authors: defineAuthors(database, authenticate),
    articles: defineArticles(database, { authenticate, slugs: createSlugs(slugs) })
  }, {
    articles: { author: { to: 'authors', property: 'authorId' } }
  })
  return { authors, articles, slugs }
}
