// One process of the app. Its argument is the URL of the database.
import Fastify from 'fastify'
import collection from '../../lib/index.ts'
import { openDatabase } from './databases.ts'
import { defineOrders } from './orders.ts'

const [url = ''] = process.argv.slice(2)
const app = Fastify()
await app.register(collection, defineOrders(openDatabase(url).storage))
const address = await app.listen({ port: 0, host: '127.0.0.1' })
// The run has ended, however it did.
process.once('disconnect', () => process.exit())
process.send?.(address)
