// Remult on Fastify: an entity, and a data provider.
import Database from 'better-sqlite3'
import Fastify from 'fastify'
import { Fields, InMemoryDataProvider, SqlDatabase, Validators, ValueConverters, describeEntity } from 'remult'
import { createPostgresDataProvider } from 'remult/postgres'
import { BetterSqlite3DataProvider } from 'remult/remult-better-sqlite3'
import { remultApi } from 'remult/remult-fastify'

/** Its own way in SQLite is a number of milliseconds. */
const isoText = { ...ValueConverters.Date, fromDb: (text) => new Date(text), toDb: (date) => date.toISOString() }

class User {}

describeEntity(
  User,
  'users',
  {
    id: Fields.uuid(),
    email: Fields.string({ validate: [Validators.email, Validators.unique] }),
    name: Fields.string({ validate: Validators.minLength(1) }),
    password: Fields.string(),
    createdAt: Fields.createdAt({ valueConverter: isoText })
  },
  { allowApiCrud: true }
)

const providers = {
  memory: ({ items }) => Object.assign(new InMemoryDataProvider(), { rows: { users: stored(items) } }),
  sqlite ({ file }) {
    const database = new Database(file)
    database.pragma('journal_mode = WAL')
    database.pragma('synchronous = NORMAL')
    return new SqlDatabase(new BetterSqlite3DataProvider(database))
  },
  postgres: ({ url }) => createPostgresDataProvider({ connectionString: url, caseInsensitiveIdentifiers: false })
}

/** By default every refusal is written to the console. */
const silent = async () => {}

const stored = (items) => items.map((item) => ({ ...item }))

export async function start (given) {
  const dataProvider = await providers[given.store](given)
  const app = Fastify()
  await app.register(
    remultApi({ entities: [User], dataProvider, ensureSchema: false, logApiEndPoints: false, error: silent })
  )
  await app.listen({ port: 0, host: '127.0.0.1' })
  return {
    server: app.server,
    reset: () => {
      dataProvider.rows = { users: stored(given.items) }
    }
  }
}
