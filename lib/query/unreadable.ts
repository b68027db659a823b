import type { FastifyBaseLogger } from 'fastify'
import type { Page } from '../storage/contract.ts'

/** More would flood the log; `count` states how many there are. */
const maxLogged = 20

/** Logs the rows that a list leaves out because they cannot be read, in one line. */
export function logUnreadable (
  collection: string,
  { unreadable }: Page<object>,
  { log }: { readonly log: Pick<FastifyBaseLogger, 'error'> }
): void {
  if (unreadable === undefined || unreadable.length === 0) return
  const rows = unreadable.slice(0, maxLogged)
  log.error(
    { collection, count: unreadable.length, rows },
    `rows of the collection ${collection} cannot be read and were left out of a list`
  )
}
