import { relate } from 'fastify-collections/relations'
import { defineArticles } from './articles.ts'
import { defineAuthors } from './authors.ts'
import { createAuthenticate } from './callers.ts'
import { defineComments } from './comments.ts'
import type { Config } from './config.ts'
import type { Database } from './database.ts'
import { createSlugs, defineSlugs } from './slugs.ts'

/** The definitions of all collections, in an order in which each refers only to those before it. */
export function createCollections (database: Database, config: Config) {
  const authenticate = createAuthenticate(config)
  const slugs = defineSlugs(database)
  const { authors, articles, comments } = relate({
    authors: defineAuthors(database, authenticate),
    articles: defineArticles(database, { authenticate, slugs: createSlugs(slugs) }),
    comments: defineComments(database, authenticate)
  }, {
    authors: {
      articles: { to: 'articles', by: 'authorId', limit: 10 }
    },
    articles: {
      // An author with articles cannot be removed.
      author: { to: 'authors', property: 'authorId', references: true },
      comments: { to: 'comments', by: 'articleId', limit: 5, order: ['-createdAt'] }
    },
    comments: {
      // An article with comments cannot be removed.
      article: { to: 'articles', property: 'articleId', references: true }
    }
  })
  return { authors, articles, comments, slugs }
}
