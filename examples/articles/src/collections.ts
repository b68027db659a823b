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
  const authors = defineAuthors(database, authenticate)
  const articles = defineArticles(database, { authenticate, authors, slugs: createSlugs(slugs) })
  return { authors, articles, slugs }
}
