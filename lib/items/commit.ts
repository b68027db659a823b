import { setTimeout as wait } from 'node:timers/promises'
import type { Result } from '../action.ts'
import type { Response } from '../response/response.ts'
import { checkPreconditions } from './preconditions.ts'
import type { Collection } from '../collection.ts'
import { isEqual } from '../http/json-value.ts'
import { Problem, problem } from '../http/problems.ts'
import type { CommittedChange } from '../options.ts'
import { isRefusal, refusalToProblem, getRefusal } from '../response/refusal.ts'
import type { Call } from '../request/request.ts'
import type { Entry, Id, Refusal, Storage } from '../storage/contract.ts'
import type { Decision } from './revise.ts'

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
  decide (current: Entry<object> | undefined, id: Id): Decision
  respond (written: WriteResult): Response
}

/** PUT and PATCH: reads the item, decides, and writes it unless it has changed in the meantime. */
export async function commitWrite (
  collection: Collection,
  request: Call,
  { action, decide, respond }: ItemWrite
): Promise<Result> {
  const { storage, hooks } = collection
  const { context } = request
  const id = collection.id.read(request.segment)
  if (id === undefined) return problem('not-found')
  let conflicts = 0

  const attempt = async (): Promise<StoredWrite | Refusal | Problem> => {
    const before = await storage.find(id, context)
    const decided = decide(before, id)
    const item = decided instanceof Promise ? await decided : decided
    if (item instanceof Problem) return item
    const isSame = before !== undefined && isUnchanged(collection, before.item, item)
    if (isSame && request.beforeCommit === undefined) return { before, after: before }
    const write = (inner: Storage<object>): Promise<Entry<object> | Refusal> => {
      if (before === undefined) return inner.insert(item, context)
      return isSame ? Promise.resolve(before) : inner.replace(id, item, before.version, context)
    }
    const stored = await storeItem(collection, request, {
      action: before === undefined ? 'create' : action,
      before,
      write,
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

  const written = await retryWrite(collection.baseStorage, id, attempt)
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
  const write = (storage: Storage<object>) => storage.insert(item, request.context)
  const written = await storeItem(collection, request, { action: 'create', before: undefined, write, respond })
  if (written instanceof Problem) return written
  if (isRefusal(written)) return refusalToProblem(written)
  if (collection.hooks.afterCommit !== undefined) {
    await notifyChange(collection, request, { action: 'create', before: undefined, after: written.after.item })
  }
  return written.response ?? respond(written)
}

/** DELETE: removes the item and returns it. If nothing needs the item, it is neither read nor returned. */
export async function commitRemove (
  collection: Collection,
  request: Call,
  { needsItem }: { needsItem: boolean }
): Promise<Entry<object> | Problem | undefined> {
  const { storage, hooks, attached } = collection
  const { context } = request
  const id = collection.id.read(request.segment)
  if (id === undefined) return problem('not-found')
  if (!needsItem && hooks.afterCommit === undefined && attached.onWrite === undefined) {
    const refusal = await storage.remove(id, undefined, context)
    return refusal && refusalToProblem(refusal)
  }
  const removed = await retryWrite(collection.baseStorage, id, async () => {
    const before = await storage.find(id, context)
    if (before === undefined) return problem('not-found')
    const failed = checkPreconditions(collection, request, before)
    if (failed !== undefined) return failed
    if (attached.onWrite === undefined) return await storage.remove(id, before.version, context) ?? before
    return runTransaction(collection, request, async (inner) => {
      const refusal = await inner.remove(id, before.version, context)
      if (refusal === undefined) await attached.onWrite!({ action: 'remove', before, after: undefined, request }, inner)
      return refusal ?? before
    })
  })
  if (removed instanceof Problem) return removed
  if (hooks.afterCommit !== undefined) {
    await notifyChange(collection, request, { action: 'remove', before: removed.item, after: undefined })
  }
  return removed
}

/** What was written, and the response if it was already rendered for the receipt. */
interface StoredWrite extends WriteResult {
  readonly response?: Response
}

interface StoreOptions {
  readonly action: 'create' | 'replace' | 'update'
  readonly before: Entry<object> | undefined
  write (storage: Storage<object>): Promise<Entry<object> | Refusal>
  respond (written: WriteResult): Response
}

/** Writes the item, in one transaction with what features store along with it. */
function storeItem (
  collection: Collection,
  request: Call,
  { action, before, write, respond }: StoreOptions
): Promise<StoredWrite | Refusal | Problem> {
  if (!needsTransaction(collection, request)) {
    return write(collection.storage).then((after) => isRefusal(after) ? after : { before, after })
  }
  return runTransaction(collection, request, async (storage) => {
    const after = await write(storage)
    if (isRefusal(after)) return after
    if (after !== before) await collection.attached.onWrite?.({ action, before, after, request }, storage)
    const response = respond({ before, after })
    return await request.beforeCommit?.(storage, response) ?? { before, after, response }
  })
}

/** Whether an item equals the stored one, apart from the time of its update. Then both are kept as they are. */
function isUnchanged ({ timestamps: { updated }, versionOf }: Collection, before: object, item: object): boolean {
  // Items of an older version can be equal although those of the current version differ.
  if (versionOf !== undefined) return false
  const names = Object.keys(item)
  if (names.length !== Object.keys(before).length) return false
  return names.every((name) => {
    if (!Object.hasOwn(before, name)) return false
    return name === updated || isEqual(Reflect.get(item, name), Reflect.get(before, name))
  })
}

const maxAttempts = 20

/**
 * Attempts a write again if another one came first: queued behind the writes of this process, and after a pause for
 * those of other processes.
 */
async function retryWrite<Done extends object> (
  storage: Storage<object>,
  id: Id,
  attempt: () => Promise<Done | Refusal | Problem>
): Promise<Done | Problem> {
  if (!isQueued(storage, id)) {
    const result = await attempt()
    if (!isRefusal(result)) return result
    if (!isRace(result)) return refusalToProblem(result)
  }
  return queueByItem(storage, id, async () => {
    for (let attempts = 1; ; attempts++) {
      const result = await attempt()
      if (!isRefusal(result)) return result
      if (!isRace(result) || attempts === maxAttempts) return refusalToProblem(result)
      await wait(Math.random() * attempts)
    }
  })
}

/** Whether another attempt may succeed. */
function isRace ({ refused }: Refusal): boolean {
  return refused === 'stale' || refused === 'not-found'
}

// Writes to one item run one after another once they have collided: the slowest would otherwise lose every race.

/** In milliseconds. A slower write no longer holds up the next one, because it may be waiting for that one. */
const maxQueueTime = 1000

/** By storage and id: resolves when the last write in the queue ends. */
const queues = new WeakMap<Storage<object>, Map<Id, Promise<void>>>()

/** In all storages. Mostly 0, which saves the lookup. */
let queuedWrites = 0

function isQueued (storage: Storage<object>, id: Id): boolean {
  return queuedWrites > 0 && queues.get(storage)?.has(id) === true
}

/** Runs the write after those of the same item that were queued before it. */
async function queueByItem<Result> (storage: Storage<object>, id: Id, write: () => Promise<Result>): Promise<Result> {
  let queue = queues.get(storage)
  if (queue === undefined) queues.set(storage, queue = new Map())
  let end!: () => void
  const ended = new Promise<void>((resolve) => { end = resolve })
  const previous = queue.get(id)
  const last = previous === undefined ? ended : previous.then(() => ended)
  queue.set(id, last)
  queuedWrites++
  await previous
  const timer = setTimeout(end, maxQueueTime)
  try {
    return await write()
  } finally {
    clearTimeout(timer)
    end()
    queuedWrites--
    if (queue.get(id) === last) queue.delete(id)
  }
}

/** Thrown inside a transaction to roll it back. It is not an Error, so that storages do not treat it as a failure. */
class Rollback {
  readonly reason: Problem | Refusal

  constructor (reason: Problem | Refusal) {
    this.reason = reason
  }
}

/** Whether a write consists of more than the item: features store something with it, or it depends on the list. */
function needsTransaction ({ attached }: Collection, { beforeCommit, checkAgain }: Call): boolean {
  return attached.onWrite !== undefined || beforeCommit !== undefined || checkAgain !== undefined
}

/**
 * Runs the work in one transaction, which a problem or a refusal rolls back. If the request depends on the state of the
 * list, the transaction first checks that the list has not changed, and no other request can change it until the end.
 */
export async function runTransaction<Done extends object> (
  { storage }: Collection,
  { checkAgain }: Call,
  work: (storage: Storage<object>) => Promise<Done | Problem | Refusal>
): Promise<Done | Problem | Refusal> {
  const runOrRollBack = async (inner: Storage<object>): Promise<Done> => {
    const result = await checkAgain?.(inner) ?? await work(inner)
    if (result instanceof Problem || isRefusal(result)) throw new Rollback(result)
    return result
  }
  try {
    if (checkAgain === undefined) return await storage.transaction!(runOrRollBack)
    return await storage.exclusive!(runOrRollBack)
  } catch (thrown) {
    if (thrown instanceof Rollback) return thrown.reason
    const refusal = getRefusal(thrown)
    if (refusal === undefined) throw thrown
    return refusal
  }
}

type WrittenChange = Pick<CommittedChange<object>, 'action' | 'before' | 'after'>

/** Calls `hooks.afterCommit`. The write is done, so an error of the hook is only logged. */
export async function notifyChange (
  { name, hooks }: Collection,
  { caller, log, original }: Call,
  change: WrittenChange
): Promise<void> {
  try {
    await hooks.afterCommit?.({ ...change, caller, request: original })
  } catch (err) {
    log.error({ err }, `the hook afterCommit of the collection ${name} failed after a ${change.action}`)
  }
}
