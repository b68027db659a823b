import type { Result } from '../action.ts'
import type { Collection } from '../collection.ts'
import { Problem, problem } from '../http/problems.ts'
import type { Call } from '../request/request.ts'
import { isRefusal, refusalToProblem } from '../response/refusal.ts'
import type { Response } from '../response/response.ts'
import type { Context, Entry, Refusal, Storage } from '../storage/contract.ts'
import { isUnchanged, notifyChange, retryWrite, runTransaction, writeInTransaction } from './commit.ts'
import type { OpenTransaction } from './transaction.ts'

/** What a custom action has decided: the item to write, if any, and the output. */
export interface ActionDecision {
  readonly item: object | undefined
  readonly output: object | undefined
}

/** What a custom action has done. The item after it is undefined if the app has removed it. */
export interface ActionOutcome {
  readonly before: Entry<object> | undefined
  readonly after: Entry<object> | undefined
  readonly output: object | undefined
  /** Whether the action itself has written the item. */
  readonly isWritten: boolean
}

interface ActionDone {
  readonly outcome: ActionOutcome
  readonly response: Response
}

export interface CustomWrite {
  /** Whether it is for an item. Otherwise it is for the collection, and there is nothing to read or write. */
  readonly hasItem: boolean
  /** Whether it only reads. Then it needs no transaction. */
  readonly isSafe: boolean
  /** Decides what to write. Called again if another write came first, or if the database rolled back. */
  decide (
    current: Entry<object> | undefined,
    transaction: OpenTransaction | undefined
  ): Promise<ActionDecision | Problem>
  respond (outcome: ActionOutcome): Response
}

/**
 * A custom action: reads the item, decides and writes, in one transaction. A storage without transactions compares the
 * version that was read with the one that it replaces.
 */
export async function commitAction (
  collection: Collection,
  request: Call,
  { hasItem, isSafe, decide, respond }: CustomWrite
): Promise<Result> {
  const { hooks } = collection
  const { storage } = request
  const id = hasItem ? collection.id.read(request.segment) : undefined
  if (hasItem && id === undefined) return problem('not-found')

  const work = async (
    storage: Storage<object>,
    transaction?: OpenTransaction
  ): Promise<ActionDone | Refusal | Problem> => {
    const context = transaction === undefined ? request.context : new LockingContext(request.context)
    // A call that has joined a transaction does that itself.
    if (id !== undefined && request.transaction === undefined) transaction?.addLocked(collection, id)
    const before = id === undefined ? undefined : await storage.find(id, context)
    if (id !== undefined) request.transaction?.checkListed(collection, id, { current: before, scope: context.scope })
    const decided = await decide(before, transaction)
    if (decided instanceof Problem) return decided
    const { item, output } = decided
    const isWritten = before !== undefined && item !== undefined && !isUnchanged(collection, before.item, item)
    let after: Entry<object> | Refusal | Problem | undefined = before
    if (isWritten) {
      after = await writeInTransaction(collection, request, {
        action: 'update',
        before,
        item,
        storage,
        transaction,
        write: (storage, item) => storage.replace(before.id, item, before.version, context)
      })
      if (after instanceof Problem || isRefusal(after)) return after
    } else if (before !== undefined && transaction !== undefined) {
      // The app may have written to the item itself.
      after = await storage.find(before.id, context)
    }
    const outcome = { before, after, output, isWritten }
    const response = respond(outcome)
    const refused = request.beforeCommit === undefined ? undefined : await request.beforeCommit(storage, response)
    return refused ?? { outcome, response }
  }

  const attempt = () => {
    if (isSafe || !storage.supports.transactions) return work(storage)
    return runTransaction(collection, request, work, { isForApp: true })
  }
  // It waits for other writes to the item before it takes a connection, which would wait for the lock.
  const done = id === undefined || isSafe
    ? await attempt()
    : await retryWrite(collection, { id, request, callsApp: true }, attempt)
  if (done instanceof Problem) return done
  if (isRefusal(done)) return refusalToProblem(done)
  const { outcome: { before, after, isWritten }, response } = done
  if (hooks.afterCommit !== undefined && isWritten) {
    await notifyChange(collection, request, { action: 'update', before: before?.item, after: after?.item })
  }
  return response
}

/** The context of a read that locks the item until the transaction ends. */
class LockingContext implements Context {
  readonly lock = true
  readonly scope: Context['scope']
  readonly #context: Context

  constructor (context: Context) {
    this.#context = context
    this.scope = context.scope
  }

  /** Created only if a storage reads it. */
  get signal (): AbortSignal {
    return this.#context.signal
  }
}
