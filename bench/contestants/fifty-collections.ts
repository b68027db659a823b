import type { FastifyInstance } from 'fastify'
import type { Adapter } from '../../lib/storage/contract.ts'
import { memory } from '../../lib/storage/memory.ts'
import type { User } from '../user.ts'
import { add as addOne } from './ours.ts'

export { open } from './ours.ts'

/** The measured collection is one of fifty in the app. */
export function add (app: FastifyInstance, name: string, adapter: Adapter<User>) {
  for (let number = 1; number < 50; number++) addOne(app, `${name}${number}`, memory())
  addOne(app, name, adapter)
}
