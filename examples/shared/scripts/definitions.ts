import { createCollections } from '../src/collections.ts'
import { config } from '../src/config.ts'
import { openDatabase } from '../src/database.ts'

// The definitions with the database of .env: npm run db:diff and npm run db:apply compare the two.

const settings = config()

export const database = openDatabase(settings)
export const definitions = Object.values(createCollections(database, settings))
