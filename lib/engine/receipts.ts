import { createHash, randomBytes } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import { hasNoEffect, isUnreachable } from '../errors/failure.ts'
import { formatValue } from '../errors/format-value.ts'
import type { Context, Receipt, Receipts, Storage } from '../storage/contract.ts'

// What is done once for an idempotency key: the claim, the work, and its answer in the same transaction.

export interface ReceiptSettings {
  /** In milliseconds. */
  readonly expiry: number
  /** In milliseconds. */
  readonly lease: number
}

/** In milliseconds. A shorter lease would end while its request still runs. */
const minLease = 100

/** Reads the options. `fail` is called with what is wrong. */
export function readReceiptTimes (
  { expiry = 86_400_000, lease = 30_000 }: { readonly expiry?: number, readonly lease?: number },
  fail: (message: string) => never
): ReceiptSettings {
  if (!([lease, expiry].every(Number.isInteger) && lease >= minLease && lease <= expiry)) {
    fail(`expiry is ${formatValue(expiry)} and lease is ${formatValue(lease)}. ` +
      `Both must be whole numbers of milliseconds, with ${minLease} <= lease <= expiry.`)
  }
  return { expiry, lease }
}

/** A request with a key. */
export interface KeyedRequest extends Pick<Receipt, 'key' | 'fingerprint'> {
  readonly context: Pick<Context, 'signal'>
  readonly log: Pick<FastifyBaseLogger, 'error'>
}

/**
 * Stores the answer, in the transaction of the work. Returns false if the request took so long that another one has
 * claimed the key: then the transaction must be rolled back.
 */
export type KeepAnswer = (answer: string, storage: Storage<object>) => Promise<boolean>

export interface KeyedWork<Result> {
  /** Called instead of `run` if there is a receipt already. */
  replay (earlier: Receipt): Result
  run (keep: KeepAnswer): Promise<Result>
  /** Whether the result is of work that was committed. If not, the key is released. */
  isDone (result: Result): boolean
}

interface ReceiptOwner {
  readonly name: string
  readonly storage: Storage<object>
}

/** Creates a function that runs work once for each key, across processes. */
export function createReceiptRunner ({ expiry, lease }: ReceiptSettings) {
  const clock = new ReceiptClock()
  return async function runOnce<Result> (
    owner: ReceiptOwner,
    { key, fingerprint, context, log }: KeyedRequest,
    { replay, run, isDone }: KeyedWork<Result>
  ): Promise<Result> {
    const receipts = owner.storage.receipts!
    const now = await clock.read(receipts, context)
    const claim: Receipt = {
      key,
      fingerprint,
      token: randomBytes(15).toString('base64url'),
      expires: now + lease,
      answer: undefined
    }
    const release = (failure?: unknown) => receipts.release(claim, limitTime(releaseTimeout)).catch((err: unknown) => {
      // The failure of the request is logged as well. Another line about the same storage would not add anything.
      if (isUnreachable(failure)) return
      log.error({ collection: owner.name, err }, 'an idempotency key could not be released')
    })
    const earlier = await receipts.claim(claim, now, context).catch(async (thrown: unknown) => {
      // The claim may have been stored before it failed.
      if (!hasNoEffect(thrown)) await release(thrown)
      throw thrown
    })
    if (earlier !== undefined) return replay(earlier)
    sweep(owner, log, now)
    try {
      const result = await run((answer, storage) => {
        return storage.receipts!.keep({ ...claim, expires: clock.now() + expiry, answer }, context)
      })
      if (!isDone(result)) await release()
      return result
    } catch (thrown) {
      // If the answer is stored already, this leaves it.
      await release(thrown)
      throw thrown
    }
  }
}

/** In milliseconds. Otherwise the key is free when its lease ends. */
const releaseTimeout = 2000

/** In milliseconds. What remains is removed later. */
const sweepTimeout = 10_000

/**
 * The context of calls that run even if the client has disconnected. They have a limit of their own: one that waits for
 * a lock, or for a server that does not respond, holds a connection that other requests need.
 */
function limitTime (milliseconds: number): Pick<Context, 'signal'> {
  return { signal: AbortSignal.timeout(milliseconds) }
}

const minute = 60_000

/**
 * The clock by which receipts expire: that of the database, if it has one. By the clock of a process that is ahead, the
 * receipts of all others would have expired, and their requests could be done again. It is read once a minute.
 */
class ReceiptClock {
  #time = 0
  #readAt = -Infinity

  async read (receipts: Receipts, context: Pick<Context, 'signal'>): Promise<number> {
    if (receipts.now !== undefined && performance.now() - this.#readAt > minute) {
      const time = await receipts.now(context)
      this.#readAt = performance.now()
      this.#time = time
    }
    return this.now()
  }

  /** Does not depend on the clock of the process, which may be set meanwhile. */
  now (): number {
    return this.#time === 0 ? Date.now() : this.#time + Math.floor(performance.now() - this.#readAt)
  }
}

const sweptAt = new WeakMap<Receipts, number>()

/** Removes expired receipts once a minute, without delaying the request. Recent ones may belong to a slow request. */
function sweep ({ name, storage }: ReceiptOwner, log: KeyedRequest['log'], now: number): void {
  const receipts = storage.receipts!
  if (now - (sweptAt.get(receipts) ?? 0) < minute) return
  sweptAt.set(receipts, now)
  receipts.sweep(now - 60 * minute, limitTime(sweepTimeout)).catch((err: unknown) => {
    log.error({ collection: name, err }, 'expired idempotency keys could not be removed')
  })
}

/** A digest for the key and the fingerprint of a receipt. */
export function digest (parts: ReadonlyArray<string | Buffer>): string {
  const hash = createHash('sha256')
  // Each part is preceded by its length, so that no two lists have the same text.
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part)
  return hash.digest('base64url')
}
