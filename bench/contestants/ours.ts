import Fastify, { type FastifyInstance } from 'fastify'
import collection, { define } from '../../lib/index.ts'
import type { Adapter } from '../../lib/storage/contract.ts'
import { schemas, type User } from '../user.ts'

export function open () {
  return Fastify()
}

export function add (app: FastifyInstance, name: string, adapter: Adapter<User>) {
  app.register(collection, define({ name, schema: schemas().item, unique: ['email'], storage: adapter }))
}
