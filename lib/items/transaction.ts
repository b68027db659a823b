import type { Collection } from '../collection.ts'
import { Problem } from '../http/problems.ts'
import { isRefusal, refusalIn } from '../response/refusal.ts'
import type { Request } from '../request/request.ts'
import type { Refusal, Storage } from '../storage/contract.ts'

/** Thrown inside a transaction to undo it. It is no Error, so that no storage takes it for a failure. */
class Rollback {
  readonly reason: Problem | Refusal

  constructor (reason: Problem | Refusal) {
    this.reason = reason
  }
}

/** Whether more belongs to a write than the item: what features store with it, or a precondition on the list. */
export function needsTransaction ({ attached }: Collection, { beforeCommit, checkAgain }: Request): boolean {
  return attached.onWrite !== undefined || beforeCommit !== undefined || checkAgain !== undefined
}

/**
 * Runs the work in one transaction, which a problem or a refusal rolls back. If the request depends on the state of the list, the
 * transaction first checks that the list has not changed, and no other request can change it until the end.
 */
export async function runTransaction<Done extends object> (
  { storage }: Collection,
  { checkAgain }: Request,
  work: (storage: Storage<object>) => Promise<Done | Problem | Refusal>
): Promise<Done | Problem | Refusal> {
  const runOrRollBack = async (inner: Storage<object>): Promise<Done> => {
    const result = await checkAgain?.(inner) ?? await work(inner)
    if (result instanceof Problem || isRefusal(result)) throw new Rollback(result)
    return result
  }
  try {
    return await (checkAgain === undefined ? storage.transaction!(runOrRollBack) : storage.exclusive!(runOrRollBack))
  } catch (thrown) {
    if (thrown instanceof Rollback) return thrown.reason
    const refusal = refusalIn(thrown)
    if (refusal === undefined) throw thrown
    return refusal
  }
}
