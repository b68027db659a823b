import type { FastifyInstance } from 'fastify'
import { batch } from '../../lib/doors/batch/batch.ts'
import collection, { define } from '../../lib/index.ts'
import type { Definition } from '../../lib/index.ts'
import type { Adapter } from '../../lib/storage/contract.ts'
import { schemas, type User } from '../user.ts'

export { open } from './ours.ts'

/** A collection that is also served by batches. */
export function add (app: FastifyInstance, name: string, adapter: Adapter<User>) {
  const users: Definition = define({ name, schema: schemas().item, unique: ['email'], storage: adapter })
  app.register(collection, users)
  app.register(batch, { collections: [users] })
}
