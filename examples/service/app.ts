import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import collection from 'fastify-collections'
import { registry } from 'fastify-collections/registry'
import { relate } from 'fastify-collections/relations'
import { serverOptions, service } from 'fastify-collections/service'
import { within } from 'fastify-collections/within'
import { closeConnections } from './close-connections.ts'
import { articles, firstArticles, publish } from './collections/articles.ts'
import { firstProducts, furtherProduct, products } from './collections/products.ts'
import { firstUsers, users } from './collections/users.ts'
import type { Database } from './database.ts'
import { seed, seedMany } from './seed.ts'

/** Creates the app: three collections over one database, which is closed with the app. */
export async function build (database: Database, further: number): Promise<FastifyInstance> {
  const { users: people, articles: texts } = relate(
    { users: await users(database), articles: await articles(database) },
    { articles: { author: { to: 'users', property: 'authorId' } } }
  )
  const publishable = texts.with(publish)
  const goods = await products(database)

  const app = Fastify(serverOptions())
  app.addHook('onClose', () => database.close())
  await app.register(closeConnections)
  await app.register(registry)
  await app.register(service, { title: 'Example service', description: '/reference/json' })
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Example service',
        version: '1.0.0',
        description: 'Users, their articles, and products',
        contact: { name: 'fastify-collections', url: 'https://www.npmjs.com/package/fastify-collections' },
        license: { name: 'MIT', url: 'https://opensource.org/license/mit' }
      },
      servers: [{ url: '/' }],
      // No operation needs credentials.
      security: []
    }
  })
  await app.register(swaggerUi, { routePrefix: '/reference' })
  await app.register(collection, people)
  await app.register(collection, publishable)
  await app.register(collection, texts.with(within(people, 'authorId')))
  await app.register(collection, goods)
  await app.ready()
  await seed(app.collection(people), firstUsers)
  await seed(app.collection(publishable), firstArticles)
  await seed(app.collection(goods), firstProducts)
  await seedMany(app.collection(goods), { name: goods.name, total: further, make: furtherProduct })
  return app
}
