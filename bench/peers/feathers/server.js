// Feathers 5 on Koa, as its generator writes it: schemas, resolvers, a service.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { feathers } from '@feathersjs/feathers'
import { KnexService } from '@feathersjs/knex'
import { bodyParser, errorHandler, koa, parseAuthentication, rest } from '@feathersjs/koa'
import { MemoryService } from '@feathersjs/memory'
import { Ajv, addFormats, hooks, resolve } from '@feathersjs/schema'
import { Type, getValidator, querySyntax } from '@feathersjs/typebox'
import knex from 'knex'

const formats = ['date-time', 'email', 'uuid']
const dataValidator = addFormats(new Ajv({}), formats)
const queryValidator = addFormats(new Ajv({ coerceTypes: true }), formats)

const user = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    email: Type.String({ format: 'email' }),
    name: Type.String({ minLength: 1 }),
    password: Type.String(),
    createdAt: Type.String({ format: 'date-time' })
  },
  { $id: 'User', additionalProperties: false }
)
const data = Type.Pick(user, ['email', 'name', 'password'], { $id: 'UserData', additionalProperties: false })
const patch = Type.Partial(data, { $id: 'UserPatch' })
const query = Type.Intersect(
  [
    querySyntax(Type.Pick(user, ['id', 'email', 'name', 'createdAt'])),
    Type.Object({}, { additionalProperties: false })
  ],
  { additionalProperties: false }
)

const whole = hooks.validateData(getValidator(data, dataValidator))
const part = hooks.validateData(getValidator(patch, dataValidator))
const created = resolve({ id: async () => randomUUID(), createdAt: async () => new Date().toISOString() })
/** An update replaces the whole item: what clients cannot send has to be carried over. */
const kept = resolve({ createdAt: async (_value, _user, { service, id }) => (await service._get(id)).createdAt })
const external = resolve({ password: async () => undefined })

const around = {
  around: { all: [hooks.resolveExternal(external)] },
  before: {
    all: [hooks.validateQuery(getValidator(query, queryValidator))],
    create: [whole, hooks.resolveData(created)],
    update: [whole, hooks.resolveData(kept)],
    patch: [part]
  }
}

const paginate = { default: 20, max: 100 }

const services = {
  memory: ({ items }) => new MemoryService({ id: 'id', paginate, store: stored(items) }),
  sqlite: ({ file }) =>
    new KnexService({
      id: 'id',
      name: 'users',
      paginate,
      Model: knex({
        client: 'better-sqlite3',
        connection: { filename: file },
        useNullAsDefault: true,
        pool: {
          afterCreate (database, done) {
            database.pragma('journal_mode = WAL')
            database.pragma('synchronous = NORMAL')
            done()
          }
        }
      })
    }),
  postgres: ({ url }) =>
    new KnexService({
      id: 'id',
      name: 'users',
      paginate,
      Model: knex({ client: 'pg', connection: url, pool: { min: 0, max: 10 } })
    })
}

const stored = (items) => Object.fromEntries(items.map((item) => [item.id, item]))

export async function start (given) {
  const app = koa(feathers())
  app.use(errorHandler())
  app.use(parseAuthentication())
  app.use(bodyParser())
  app.configure(rest())
  const service = services[given.store](given)
  app.use('users', service, { methods: ['find', 'get', 'create', 'update', 'patch', 'remove'] })
  app.service('users').hooks(around)
  const server = await app.listen(0, '127.0.0.1')
  if (!server.listening) await once(server, 'listening')
  return {
    server,
    reset: () => {
      service.store = stored(given.items)
    }
  }
}
