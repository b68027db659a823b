import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { action } from '../../lib/features/action.ts'
import collection, { define } from '../../lib/index.ts'
import type { Adapter } from '../../lib/storage/contract.ts'
import { schemas, type User } from '../user.ts'

export { open } from './ours.ts'

/** A definition with a custom action. The contestant `features` has the same route, hand-written. */
export function add (app: FastifyInstance, name: string, adapter: Adapter<User>) {
  const users = define({ name, schema: schemas().item, unique: ['email'], storage: adapter })
  app.register(collection, users.with(action('rename', {
    input: Type.Object({ name: Type.String({ minLength: 1 }) }, { additionalProperties: false }),
    when: ({ item }) => item.email !== '',
    run: ({ item, input }) => ({ ...item, name: input.name })
  })))
}
