import { AsyncLocalStorage } from 'node:async_hooks'
import type { BasicCalls, CallOptions, CollectionCalls, Entry } from './call-types.ts'
import type { Caller } from './access/caller.ts'
import type { Collection, Definition } from './collection.ts'
import { HookError, ProblemError } from '../errors/failure.ts'
import { Problem, problem } from '../http/problems.ts'
import type { LockedItems, Transaction } from './definition.ts'
import { getRefusal, isRefusal, refusalToProblem } from './refusal.ts'
import type { Context, Entry as StoredEntry, Id, Refusal, Storage, TransactionHandle } from '../storage/contract.ts'
import { wrapStorage } from '../storage/wrap-storage.ts'
import type { Progress } from './progress.ts'
import { compareIds, TransactionItems } from './transaction-items.ts'

/** A transaction was used in a way that it cannot be. */
export class TransactionError extends Error {
  constructor (message: string) {
    super(message)
    this.name = 'TransactionError'
  }
}

/** What functions of the app run in. */
const running = new AsyncLocalStorage<OpenTransaction>()

/** A transaction that functions of the app use: hooks, and `app.collection(definition).transaction()`. */
export class OpenTransaction implements Transaction {
  /** Called after the commit. */
  readonly notifications: Array<() => Promise<void>> = []
  readonly #items = new TransactionItems<Collection>()
  /** Set if another transaction came first with a write. */
  lostRace: Problem | undefined
  readonly #owner: Collection
  readonly #handle: TransactionHandle | undefined
  readonly #context: Pick<Context, 'signal'>
  /** Who has caused it. */
  readonly initiator: Caller | undefined
  /** The one in whose functions this one was begun, in another database. */
  #outer: OpenTransaction | undefined
  #client: unknown
  /** Whether the functions of the app still run. They may do so after the transaction was aborted. */
  #isRunning = true
  /** Why it cannot be committed. */
  #failure: { readonly error: unknown } | undefined
  #hookFailure: { readonly error: unknown } | undefined

  constructor (
    { collection, initiator }: Pick<OpenTransactionTarget, 'collection' | 'initiator'>,
    handle: TransactionHandle | undefined,
    context: Pick<Context, 'signal'>,
    outer: OpenTransaction | undefined
  ) {
    this.#owner = collection
    this.initiator = initiator ?? outer?.initiator
    this.#handle = handle
    this.#context = context
    this.#outer = outer
  }

  get client (): Transaction['client'] {
    this.#checkOpen()
    return this.#client
  }

  /** Aborted when the client of the request that has begun the transaction no longer waits. */
  get signal (): AbortSignal {
    return this.#context.signal
  }

  collection<Item extends object, Adds> (definition: Definition<Item, Adds>): CollectionCalls<Item, Adds> {
    // Only collections that an app serves have transactions.
    return this.#owner.app.openCollection!(definition, this)
  }

  async lock<Item extends object, Adds, const Ids extends readonly Id[]> (
    target: Definition<Item, Adds> | Pick<BasicCalls<Item>, 'read'>,
    ids: Ids,
    options?: Omit<CallOptions, 'transaction'>
  ): Promise<LockedItems<Item, Ids>> {
    // What features add does not matter here.
    const calls: Pick<BasicCalls<Item>, 'read'> = 'read' in target ? target : this.collection<Item, never>(target)
    const entries = new Map<Id, Entry<Item>>()
    for (const id of [...ids].sort(compareIds)) {
      if (!entries.has(id)) entries.set(id, await calls.read(id, { ...options, transaction: this }))
    }
    // TypeScript does not know that map() keeps the length.
    return ids.map((id) => entries.get(id)!) as unknown as LockedItems<Item, Ids>
  }

  /** Returns the storage of a collection within this transaction; outside of it, if it is in another database. */
  joinIfPossible (collection: Collection): Storage<object> {
    const { storage } = collection
    const canJoin = storage.join !== undefined && storage.database === this.#handle?.database
    return canJoin ? this.join(collection) : storage
  }

  /** Returns the storage of a collection within this transaction. */
  join (collection: Collection): Storage<object> {
    const { name, storage } = collection
    this.#checkOpen()
    if (storage.join === undefined || this.#handle === undefined) {
      const cannot = storage.join === undefined ? storage.name : this.#owner.storage.name
      throw new TransactionError(`Collection ${name} cannot join the transaction of ${this.#owner.name}: ` +
        `the storage ${cannot} does not share transactions.`)
    }
    if (storage.database !== this.#handle.database) {
      throw new TransactionError(`Collection ${name} is in another database than ${this.#owner.name}, ` +
        'whose transaction it was to join. Write to it after the commit, in hooks.afterCommit.')
    }
    return wrapStorage(storage.join(this.#handle), (inner) => ({
      list: (query, context) => this.#use(() => inner.list(query, context)),
      ...inner.listBy && {
        listBy: (by, query, context) => this.#use(() => inner.listBy!(by, query, context))
      },
      ...inner.aggregate && {
        aggregate: (query, context) => this.#use(() => inner.aggregate!(query, context))
      },
      find: (id, context) => {
        if (context.lock === true) this.addLocked(collection, id)
        return this.#use(() => inner.find(id, context))
      },
      insert: (draft, context) => this.#use(() => inner.insert(draft, context)),
      replace: (id, item, expected, context) => this.#use(() => inner.replace(id, item, expected, context)),
      remove: (id, expected, context) => this.#use(() => inner.remove(id, expected, context)),
      ...inner.insertMany && {
        insertMany: (drafts, context) => this.#use(() => inner.insertMany!(drafts, context))
      },
      ...inner.replaceMany && {
        replaceMany: (replacements, context) => this.#use(() => inner.replaceMany!(replacements, context))
      },
      ...inner.removeMany && {
        removeMany: (entries, context) => this.#use(() => inner.removeMany!(entries, context))
      }
    }))
  }

  /** Called with an item that is locked, or about to be. */
  addLocked (collection: Collection, id: Id): void {
    this.#items.addLocked(collection, id)
  }

  /** Called with entries that the app gets and that are not locked. What it writes may follow from them. */
  addListed (collection: Collection, entries: ReadonlyArray<StoredEntry<object>>): void {
    this.#items.addListed(collection, entries)
  }

  /** Called with an item that the app gets, and that is locked. */
  deleteListed (collection: Collection, id: Id): void {
    this.#items.deleteListed(collection, id)
  }

  hasListed (collection: Collection, id: Id): boolean {
    return this.#items.getListed(collection, id) !== undefined
  }

  /** Called before a write, with the item as it is locked. Throws if it has changed since the app has listed it. */
  checkListed (collection: Collection, id: Id, current: StoredEntry<object> | undefined): void {
    const listed = this.#items.getListed(collection, id)
    if (listed === undefined) return
    this.#items.deleteListed(collection, id)
    if (listed === current?.version) return
    throw this.loseRace(problem('concurrent-update', {
      detail: 'An item was changed after the transaction had listed it, each time. Repeat the request.'
    }))
  }

  /** Returns the problem, to throw it: the transaction runs again. If it loses each time, that is the response. */
  loseRace (reason: Problem): Problem {
    this.lostRace = reason
    this.fail(reason)
    return reason
  }

  /** Whether it can only be rolled back. */
  get hasFailed (): boolean {
    return this.#failure !== undefined
  }

  /**
   * Runs functions of the app. The transaction can be used until they end. A repeated transaction first locks what the
   * attempt before has locked, in the same order as all others: so it does not lose the same race, nor meet the same
   * deadlock, again.
   */
  async run<Done extends object> (
    work: Work<Done, OpenTransaction>,
    storage: Storage<object>,
    { before, isRehearsal = false }: RunOptions
  ): Promise<Done> {
    try {
      if (this.#handle?.getClient !== undefined) this.#client = await this.#handle.getClient(this.#context)
      for (const { collection, id } of before === undefined ? [] : before.#items.getLocked()) {
        await this.join(collection).find(id, { signal: this.signal, scope: undefined, lock: true })
      }
      const result = await running.run(this, work, storage, this)
      // The app may have caught the error.
      if (this.#failure !== undefined) throw this.#failure.error
      if (isRehearsal) throw new Rollback(result)
      return rollBackRefused(result)
    } finally {
      this.#isRunning = false
      // Functions that run on, and begin others, would otherwise keep all that have ended.
      this.#outer = this.#outer?.findOpen()
    }
  }

  /** Runs a hook, and remembers what it throws. */
  async callHook<Result> (hook: () => Result | Promise<Result>): Promise<Result> {
    try {
      return await hook()
    } catch (error) {
      throw this.rememberHookError(error)
    }
  }

  /** Returns what a hook has thrown, to throw it again. */
  rememberHookError (error: unknown): unknown {
    this.#hookFailure = { error }
    return error
  }

  /** Wraps what the storage has thrown if a hook has thrown it: then it is not a failure of the storage. */
  toHookError (thrown: unknown): unknown {
    const failure = this.#hookFailure
    const { cause, unreachable } = Object(thrown) as { cause?: unknown, unreachable?: unknown }
    if (failure === undefined || unreachable === true) return thrown
    // The storage converts errors of its driver, which a hook can get from the client.
    return thrown === failure.error || cause === failure.error ? new HookError(failure.error) : thrown
  }

  /** After this, the transaction cannot be committed: it contains a part of a call. */
  fail (error: unknown): void {
    this.#failure ??= { error }
  }

  /** Refuses a call that would wait for a transaction in which it runs. */
  checkOutsideCall (collection: Collection): void {
    const { name, storage } = collection
    if (this.#isRunning && this.#handle !== undefined && storage.database === this.#handle.database) {
      throw new TransactionError(`A call of the collection ${name} runs in a transaction of ${this.#owner.name} ` +
        'without being part of it, so each could wait for the other. Pass { transaction } to the call.')
    }
    this.#outer?.checkOutsideCall(collection)
  }

  /** Returns the innermost transaction that is open: this one, or one in which it was begun. */
  findOpen (): OpenTransaction | undefined {
    return this.#isRunning ? this : this.#outer?.findOpen()
  }

  /** A statement may come late, if the app does not await a call. */
  async #use<Result> (call: () => Promise<Result>): Promise<Result> {
    this.#checkOpen()
    try {
      return await call()
    } catch (error) {
      // Some databases have undone everything so far.
      this.fail(error)
      throw error
    }
  }

  #checkOpen (): void {
    if (!this.#isRunning) {
      throw new TransactionError(`The transaction of ${this.#owner.name} has ended. ` +
        'Await everything that uses it before the function returns that got it.')
    }
    if (this.#context.signal.aborted) {
      throw new TransactionError(`The transaction of ${this.#owner.name} has ended and nothing is written: ` +
        'the client has disconnected, or the time of the request is over. Stop when the signal is aborted.')
    }
  }
}

/** Thrown inside a transaction to roll it back. It is not an Error, so that storages do not treat it as a failure. */
class Rollback<Result extends object = object> {
  /** What the work has returned. */
  readonly result: Result

  constructor (result: Result) {
    this.result = result
  }
}

interface RunOptions {
  /** The attempt that was rolled back before. */
  readonly before: OpenTransaction | undefined
  /** Whether the transaction is rolled back whatever the work returns. */
  readonly isRehearsal?: boolean | undefined
}

function rollBackRefused<Done extends object> (result: Done | Problem | Refusal): Done {
  if (result instanceof Problem || isRefusal(result)) throw new Rollback(result)
  return result
}

/** What runs in a transaction. A problem or a refusal that it returns rolls the transaction back. */
export type Work<Done extends object, Open = OpenTransaction | undefined> =
  (storage: Storage<object>, transaction: Open) => Promise<Done | Problem | Refusal>

interface TransactionTarget {
  readonly storage: Storage<object>
  /** That of an operation whose time is limited. */
  readonly progress: Progress | undefined
}

function beginTransaction<Done> (
  { storage, progress }: TransactionTarget,
  run: (storage: Storage<object>, handle?: TransactionHandle) => Promise<Done>,
  context: Pick<Context, 'signal'>
): Promise<Done> {
  return progress === undefined
    ? storage.transaction!(run, context)
    : progress.transaction(run, (tracked) => storage.transaction!(tracked, context))
}

/** Runs the work in a transaction. The storage may run it again if the database rolled it back. */
export async function runInTransaction<Done extends object> (
  { storage, progress }: TransactionTarget,
  work: Work<Done>,
  context: Pick<Context, 'signal'>
): Promise<Done | Problem | Refusal> {
  const run = async (inner: Storage<object>): Promise<Done> => rollBackRefused(await work(inner, undefined))
  try {
    return await beginTransaction({ storage, progress }, run, context)
  } catch (thrown) {
    return getReason(thrown)
  }
}

/** How often a transaction is attempted that loses every race. */
const maxAttempts = 20

interface OpenTransactionTarget extends TransactionTarget {
  readonly collection: Collection
  readonly initiator?: Caller | undefined
  /** Whether everything is done and then rolled back. */
  readonly isRehearsal?: boolean | undefined
}

/**
 * Does the same with functions of the app, which get the transaction. It runs again if another one came first: it has
 * changed what this one has listed and then writes, or what a call of this one was about to write.
 */
export async function openTransaction<Done extends object> (
  { collection, storage, progress, initiator, isRehearsal }: OpenTransactionTarget,
  work: Work<Done, OpenTransaction>,
  context: Pick<Context, 'signal'>
): Promise<Done | Problem | Refusal> {
  // Read here: the storage may call the function in the context of another request.
  const outer = running.getStore()?.findOpen()
  let transaction: OpenTransaction | undefined
  let lost: OpenTransaction | undefined
  const run = (inner: Storage<object>, handle?: TransactionHandle): Promise<Done> => {
    const before = transaction ?? lost
    transaction = new OpenTransaction({ collection, initiator }, handle, context, outer)
    return transaction.run(work, inner, { before, isRehearsal })
  }
  for (let attempts = 1; ; attempts++) {
    try {
      const done = await beginTransaction({ storage, progress }, run, context)
      for (const notify of transaction?.notifications ?? []) await notify()
      return done
    } catch (thrown) {
      const lostRace = transaction?.lostRace
      if (lostRace === undefined) return getReason(transaction === undefined ? thrown : transaction.toHookError(thrown))
      if (attempts === maxAttempts) return lostRace
      // The next attempt may fail before it begins.
      lost = transaction
      transaction = undefined
    }
  }
}

/** Runs the work in a transaction of the app. What it has written is undone only with the whole transaction. */
export async function joinTransaction<Done extends object> (
  { name, storage }: { readonly name: string, readonly storage: Storage<object> },
  work: Work<Done>,
  transaction: OpenTransaction
): Promise<Done | Problem | Refusal> {
  try {
    const result = await work(storage, transaction)
    if (result instanceof Problem) transaction.fail(toCallError(name, result))
    else if (isRefusal(result)) transaction.fail(toCallError(name, refusalToProblem(result)))
    return result
  } catch (thrown) {
    transaction.fail(toCallError(name, thrown))
    return getReason(thrown)
  }
}

/** A problem of a call is not one of the request that has begun the transaction. */
function toCallError (collection: string, thrown: unknown): unknown {
  return thrown instanceof Problem ? new ProblemError(thrown, { collection }) : thrown
}

/** Returns why a transaction was rolled back, and throws everything that has failed. */
function getReason<Done extends object> (thrown: unknown): Done | Problem | Refusal {
  // Only the work of this transaction, which returns this type, is rolled back like this.
  const reason = thrown instanceof Rollback ? thrown.result as Done | Problem | Refusal : getRefusal(thrown)
  if (reason === undefined) throw thrown
  return reason
}

/** Returns the transaction of an option, which must be one of this library. */
export function toOpenTransaction (transaction: Transaction): OpenTransaction {
  if (transaction instanceof OpenTransaction) return transaction
  throw new TypeError('The option transaction is not a transaction. Pass what a hook or transaction() has got.')
}

/** Refuses a request or a call from code that would wait for a transaction in which it runs. */
export function checkOutsideCall (collection: Collection): void {
  running.getStore()?.checkOutsideCall(collection)
}
