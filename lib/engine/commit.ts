import { setTimeout as wait } from 'node:timers/promises'
import type { Result } from '../action.ts'
import type { Response } from '../response/response.ts'
import { checkScope } from '../access/scope.ts'
import { checkPreconditions } from './preconditions.ts'
import type { Collection } from '../collection.ts'
import { Problem, problem } from '../http/problems.ts'
import type { CommittedChange } from '../options.ts'
import { isRefusal, refusalToProblem } from '../response/refusal.ts'
import type { Call } from '../request/request.ts'
import type { Entry, Id, Refusal, Storage } from '../storage/contract.ts'
import { joinTransaction, openTransaction, runInTransaction } from './transaction.ts'
import type { OpenTransaction, Work } from './transaction.ts'

// Every write of a single item: the transaction, the comparison with the version that was read, the retry after a race,
// and `hooks.afterCommit`.

/** The item that the URI names, before and after a write. If it is the same entry, nothing was written. */
export interface WriteResult {
  readonly before: Entry<object> | undefined
  readonly after: Entry<object>
}

export interface ItemWrite {
  readonly action: 'replace' | 'update'
  /** Decides what to write. Called again, with what is stored then, if another write came first. */
  decide (current: Entry<object> | undefined, id: Id): Promise<object | Problem>
  respond (written: WriteResult): Response
}

/** PUT and PATCH: reads the item, decides, and writes it unless it has changed in the meantime. */
export async function commitWrite (
  collection: Collection,
  request: Call,
  { action, decide, respond }: ItemWrite
): Promise<Result> {
  const { hooks } = collection
  const { storage, context } = request
  const id = collection.id.read(request.segment)
  if (id === undefined) return problem('not-found')
  let conflicts = 0

  const attempt = async (): Promise<StoredWrite | Refusal | Problem> => {
    const before = await storage.find(id, context)
    request.transaction?.checkListed(collection, id, { current: before, scope: context.scope })
    const item = await decide(before, id)
    if (item instanceof Problem) return item
    const isSame = before !== undefined && isUnchanged(collection, before.item, item)
    if (isSame && request.beforeCommit === undefined) return { before, after: before }
    const stored = await storeItem(collection, request, {
      action: before === undefined ? 'create' : action,
      before,
      // Without an item nothing is written.
      item: isSame ? undefined : item,
      respond
    })
    const idExists = before === undefined &&
      isRefusal(stored) &&
      stored.refused === 'not-unique' &&
      stored.properties.join() === collection.id.property
    // Another PUT may have created the item, or a DELETE may have removed it since: both are races. An item that is
    // still not visible the second time is outside the scope or soft-deleted, and both get the same response.
    if (idExists && (await storage.find(id, context) !== undefined || ++conflicts === 1)) return { refused: 'stale' }
    return stored
  }

  const callsApp = hooks.beforeValidation !== undefined || hasHooksInTransaction(collection)
  const written = await retryWrite(collection, { id, request, callsApp }, attempt)
  if (written instanceof Problem) return written
  const { before, after } = written
  if (hooks.afterCommit !== undefined && after !== before) {
    await notifyChange(collection, request, {
      action: before === undefined ? 'create' : action,
      before: before?.item,
      after: after.item
    })
  }
  return written.response ?? respond(written)
}

/** POST: writes a new item. */
export async function commitCreate (
  collection: Collection,
  request: Call,
  { item, respond }: { item: object, respond: (written: WriteResult) => Response }
): Promise<Result> {
  const written = await storeItem(collection, request, { action: 'create', before: undefined, item, respond })
  if (written instanceof Problem) return written
  if (isRefusal(written)) return refusalToProblem(written)
  if (collection.hooks.afterCommit !== undefined) {
    await notifyChange(collection, request, { action: 'create', before: undefined, after: written.after.item })
  }
  return written.response ?? respond(written)
}

export interface ItemRemoval {
  /** Whether the item is needed. Otherwise it is read only if something else needs it. */
  readonly needsItem: boolean
  respond (removed: Entry<object> | undefined): Response
}

/** DELETE: removes the item. */
export async function commitRemove (
  collection: Collection,
  request: Call,
  { needsItem, respond }: ItemRemoval
): Promise<Result> {
  const { hooks } = collection
  const { storage, context } = request
  const id = collection.id.read(request.segment)
  if (id === undefined) return problem('not-found')
  const isInTransaction = needsTransaction(collection, request)
  const isListed = request.transaction?.hasListed(collection, id) === true
  if (!needsItem && hooks.afterCommit === undefined && !isInTransaction && !isListed) {
    const refusal = await storage.remove(id, undefined, context)
    return refusal === undefined ? respond(undefined) : refusalToProblem(refusal)
  }
  const callsApp = hasHooksInTransaction(collection)
  const removed = await retryWrite(collection, { id, request, callsApp }, async () => {
    const before = await storage.find(id, context)
    request.transaction?.checkListed(collection, id, { current: before, scope: context.scope })
    if (before === undefined) return problem('not-found')
    const failed = checkPreconditions(collection, request, before)
    if (failed !== undefined) return failed
    if (!isInTransaction) return await storage.remove(id, before.version, context) ?? before
    return runTransaction(collection, request, async (inner, transaction) => {
      const write = { action: 'remove', before, item: undefined } as const
      const refused = await callBeforeWrite(collection, request, { write, transaction })
      if (refused instanceof Problem) return refused
      const refusal = await inner.remove(id, before.version, context)
      if (refusal !== undefined) return refusal
      await callAfterWrite(collection, request, {
        action: 'remove',
        before,
        after: undefined,
        storage: inner,
        transaction
      })
      return before
    })
  })
  if (removed instanceof Problem) return removed
  if (hooks.afterCommit !== undefined) {
    await notifyChange(collection, request, { action: 'remove', before: removed.item, after: undefined })
  }
  return respond(removed)
}

/** What was written, and the response if it was already rendered for the receipt. */
interface StoredWrite extends WriteResult {
  readonly response?: Response
}

interface StoreOptions {
  readonly action: 'create' | 'replace' | 'update'
  readonly before: Entry<object> | undefined
  /** Undefined if the item stays as it is. */
  readonly item: object | undefined
  respond (written: WriteResult): Response
}

/** Writes the item, in one transaction with what features store along with it. */
async function storeItem (
  collection: Collection,
  request: Call,
  { action, before, item, respond }: StoreOptions
): Promise<StoredWrite | Refusal | Problem> {
  const { context } = request
  const write = (storage: Storage<object>, item: object): Promise<Entry<object> | Refusal> => {
    return before === undefined
      ? storage.insert(item, context)
      : storage.replace(before.id, item, before.version, context)
  }
  if (item !== undefined && !needsTransaction(collection, request)) {
    const after = await write(request.storage, item)
    return isRefusal(after) ? after : { before, after }
  }
  return runTransaction(collection, request, async (storage, transaction) => {
    const after = item === undefined
      ? before!
      : await writeInTransaction(collection, request, { action, before, item, storage, transaction, write })
    if (after instanceof Problem || isRefusal(after)) return after
    const response = respond({ before, after })
    return await request.beforeCommit?.(storage, response) ?? { before, after, response }
  })
}

interface TransactionalWrite {
  readonly action: 'create' | 'replace' | 'update'
  readonly before: Entry<object> | undefined
  readonly item: object
  /** The storage within the transaction. */
  readonly storage: Storage<object>
  readonly transaction: OpenTransaction | undefined
  write (storage: Storage<object>, item: object): Promise<Entry<object> | Refusal>
}

/** Writes an item in a transaction, with the hooks that run there. */
export function writeInTransaction (
  collection: Collection,
  request: Call,
  pending: TransactionalWrite
): Promise<Entry<object> | Refusal | Problem> {
  if (hasHooksInTransaction(collection)) return writeWithHooks(collection, request, pending)
  return pending.write(pending.storage, pending.item)
}

async function writeWithHooks (
  collection: Collection,
  request: Call,
  { action, before, item: given, storage, transaction, write }: TransactionalWrite
): Promise<Entry<object> | Refusal | Problem> {
  const item = await callBeforeWrite(collection, request, { write: { action, before, item: given }, transaction })
  if (item instanceof Problem) return item
  const after = await write(storage, item ?? given)
  if (isRefusal(after)) return after
  await callAfterWrite(collection, request, { action, before, after, storage, transaction })
  return after
}

type WriteToCome = { readonly before: Entry<object> | undefined } & (
  | { readonly action: 'create' | 'replace' | 'update', readonly item: object }
  | { readonly action: 'remove', readonly item: undefined }
)

/** Calls `hooks.beforeWrite`, and validates the item that it returns; undefined if it returns none. */
async function callBeforeWrite (
  collection: Collection,
  request: Call,
  { write, transaction }: { write: WriteToCome, transaction: OpenTransaction | undefined }
): Promise<object | Problem | undefined> {
  const { hooks } = collection
  if (hooks.beforeWrite === undefined || transaction === undefined) return undefined
  const { customAction, caller, original, scope } = request
  const before = write.before?.item
  const context = { customAction, before, caller, request: original, transaction }
  const { action, item: given } = write
  const returned: unknown = await transaction.callHook(() => {
    if (action === 'remove') return hooks.beforeWrite!({ ...context, action, item: undefined })
    return hooks.beforeWrite!({ ...context, action, item: given })
  })
  if (returned === undefined || write.action === 'remove') return undefined
  const id: unknown = Reflect.get(write.item, collection.id.property)
  const item = request.view.type.accept(returned, { source: 'The hook beforeWrite', id })
  return item instanceof Problem || scope === undefined ? item : checkScope(item, scope) ?? item
}

interface WriteDone extends Pick<CommittedChange<object>, 'action'> {
  readonly before: Entry<object> | undefined
  readonly after: Entry<object> | undefined
  readonly storage: Storage<object>
  readonly transaction: OpenTransaction | undefined
}

/** Calls the hooks `onWrite` of features, and `hooks.afterWrite`. */
async function callAfterWrite (
  { attached, hooks }: Collection,
  request: Call,
  { action, before, after, storage, transaction }: WriteDone
): Promise<void> {
  if (transaction === undefined) return
  const { onWrite } = attached
  if (onWrite !== undefined) {
    await transaction.callHook(() => onWrite({ action, before, after, request, transaction }, storage))
  }
  if (hooks.afterWrite === undefined) return
  const { customAction, caller, original } = request
  await transaction.callHook(() => hooks.afterWrite!({
    action,
    customAction,
    before: before?.item,
    after: after?.item,
    caller,
    request: original,
    transaction
  }))
}

/** Whether an item equals the stored one, apart from the time of its update. Then both are kept as they are. */
export function isUnchanged (collection: Collection, before: object, item: object): boolean {
  // Items of an older version can be equal although those of the current version differ.
  return collection.versionOf === undefined && collection.type.isUnchanged(before, item)
}

/** How often a write is attempted that loses every race. */
const maxAttempts = 20

interface QueuedWrite {
  readonly id: Id
  readonly request: Call
  /** Whether it calls functions of the app, which may write as well. */
  readonly callsApp: boolean
}

/**
 * Runs a write after the writes of this process to the same item. If one of another process came first, it is attempted
 * again, after a pause.
 */
export async function retryWrite<Done extends object> (
  { writeQueue }: Collection,
  { id, request, callsApp }: QueuedWrite,
  attempt: () => Promise<Done | Refusal | Problem>
): Promise<Done | Problem> {
  // A queued write may wait for a lock of this transaction, so it does not wait for that write.
  const isQueued = request.transaction === undefined
  for (let attempts = 1; ; attempts++) {
    let result: Done | Refusal | Problem
    if (isQueued) {
      const turn = writeQueue.begin(id, { context: request.context, isRepeated: attempts > 1 })
      // Mostly undefined, which saves an await.
      if (turn !== undefined) await turn
      if (callsApp) {
        result = await writeQueue.runForApp(id, { context: request.context, write: attempt })
      } else {
        try {
          result = await attempt()
        } finally {
          writeQueue.end(id)
        }
      }
    } else {
      result = await attempt()
    }
    if (!isRefusal(result)) return result
    if (!isRace(result) || attempts === maxAttempts) return refusalToProblem(result)
    await wait(Math.random() * attempts)
  }
}

/** Whether another attempt may succeed. */
function isRace ({ refused }: Refusal): boolean {
  return refused === 'stale' || refused === 'not-found'
}

/** Whether a write consists of more than the item: features store something with it. */
function needsTransaction (collection: Collection, { beforeCommit }: Call): boolean {
  return beforeCommit !== undefined || hasHooksInTransaction(collection)
}

/** Whether functions of the app run in the transaction: hooks of the definition, or of its features. */
function hasHooksInTransaction ({ attached, hooks }: Collection): boolean {
  return attached.onWrite !== undefined || hooks.beforeWrite !== undefined || hooks.afterWrite !== undefined
}

/** Runs the work in one transaction, which a problem or a refusal rolls back. */
export function runTransaction<Done extends object> (
  collection: Collection,
  { storage, context, transaction: joined }: Call,
  work: Work<Done>,
  // Only functions of the app need an open transaction.
  { isForApp }: { isForApp: boolean } = { isForApp: hasHooksInTransaction(collection) }
): Promise<Done | Problem | Refusal> {
  if (joined !== undefined) return joinTransaction({ name: collection.name, storage }, work, joined)
  return isForApp
    ? openTransaction({ collection, storage }, work, context)
    : runInTransaction(storage, work, context)
}

type WrittenChange = Pick<CommittedChange<object>, 'action' | 'before' | 'after'>

/** Calls `hooks.afterCommit`. The write is done, so an error of the hook is only logged. */
export async function notifyChange (
  { name, hooks }: Collection,
  { customAction, caller, log, original, transaction }: Call,
  change: WrittenChange
): Promise<void> {
  const notify = async (): Promise<void> => {
    try {
      await hooks.afterCommit?.({ ...change, customAction, caller, request: original })
    } catch (err) {
      const action = customAction ?? change.action
      const message = `the hook afterCommit of the collection ${name} failed after the action ${action}`
      log.error({ collection: name, action, err }, message)
    }
  }
  if (transaction === undefined) await notify()
  else transaction.notifications.push(notify)
}
