import { createAuthenticate } from './callers.ts'
import type { Config } from './config.ts'
import type { Database } from './database.ts'
import { defineProducts } from './products.ts'

/** The definitions of all collections. */
export function createCollections (database: Database, config: Config) {
  return { products: defineProducts(database, createAuthenticate(config)) }
}
