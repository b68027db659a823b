import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { bulk } from '../../lib/features/bulk.ts'
import { idempotency } from '../../lib/features/idempotency.ts'
import { redirects } from '../../lib/features/redirects.ts'
import { softDelete } from '../../lib/features/soft-delete.ts'
import { timeout } from '../../lib/features/timeout.ts'
import collection, { define } from '../../lib/index.ts'
import type { Adapter } from '../../lib/storage/contract.ts'
import { schemas, type User } from '../user.ts'

export { open } from './ours.ts'

/** A definition with five features. */
export function add (app: FastifyInstance, name: string, adapter: Adapter<User>) {
  const schema = Type.Object({
    ...schemas().item.properties,
    deletedAt: Type.Optional(Type.String({ format: 'date-time' }))
  })
  app.register(
    collection,
    define({ name, schema, unique: ['email'], storage: adapter }).with(
      bulk(),
      idempotency(),
      redirects({ to: () => undefined }),
      softDelete({ property: 'deletedAt' }),
      timeout(10_000)
    )
  )
}
