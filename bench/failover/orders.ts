import { Type, type Static } from '@sinclair/typebox'
import { define } from '../../lib/index.ts'
import { idempotency } from '../../lib/features/idempotency.ts'
import { timeout } from '../../lib/features/timeout.ts'
import type { SqlAdapter } from '../../lib/storage/sql.ts'

const schema = Type.Object({
  id: Type.String({ format: 'uuid', readOnly: true }),
  /** The number of the request that has created it. Not unique, so that a second one would be stored. */
  number: Type.String(),
  /** The numbers of the requests that have changed it. */
  changes: Type.Array(Type.String(), { default: [] })
})

export type Order = Static<typeof schema>

/** Milliseconds that an action, and connecting to the database, may take. */
export const timeLimit = 2000

export function defineOrders (storage: SqlAdapter) {
  return define({ name: 'orders', schema, storage }).with(timeout(timeLimit), idempotency({ lease: 5000 }))
}
