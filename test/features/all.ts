// Every feature, for tests of their combinations.

export { action } from '../../lib/features/action.ts'
export type { AddedAction } from '../../lib/features/action.ts'
export { aggregates } from '../../lib/features/aggregates.ts'
export { bulk } from '../../lib/features/bulk.ts'
export { idempotency } from '../../lib/features/idempotency.ts'
export { redirects } from '../../lib/features/redirects.ts'
export { softDelete } from '../../lib/features/soft-delete.ts'
export { timeout } from '../../lib/features/timeout.ts'
export { within } from '../../lib/features/within.ts'
