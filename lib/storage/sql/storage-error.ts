import { setTimeout as delay } from 'node:timers/promises'
import type { Unreachable } from '../contract.ts'
import type { Dialect, ErrorKind } from './dialect.ts'

/** Sent to the client as 503. The error of the driver is its cause, for the log. */
export class StorageUnreachable extends Error implements Unreachable {
  readonly unreachable = true
  readonly retryAfter = 1

  constructor (message: string, cause: unknown) {
    super(message, { cause })
    this.name = 'StorageUnreachable'
  }
}

/** A write may have been done, and may be lost again. */
export class OutcomeUnknown extends StorageUnreachable {
  readonly isOutcomeUnknown = true
}

/** The request no longer waits for the statement, which may still run. */
export class RequestAborted extends StorageUnreachable {
  constructor (signal: AbortSignal) {
    super('The request was aborted before the storage answered', signal.reason)
  }
}

/** The codes of Node.js for a server that is not running, or no longer. */
export const networkErrors: Readonly<Record<string, ErrorKind>> = {
  ECONNREFUSED: 'unreachable',
  ECONNRESET: 'unreachable',
  EPIPE: 'unreachable',
  ETIMEDOUT: 'unreachable',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  EAI_AGAIN: 'unreachable',
  ENOTFOUND: 'unreachable', // no address for the name, as while a cluster moves it
  EADDRNOTAVAIL: 'unreachable', // no free port
  EMFILE: 'unreachable', // too many open files, in the process
  ENFILE: 'unreachable', // or in the system
  ENOENT: 'unreachable' // the socket of a local server that is down
}

/** Milliseconds before each further attempt. */
const retryDelays = [4, 12, 36, 108, 324]

/** Converts an error of the driver to the error to throw. */
export function toStorageError ({ classifyError, name }: Dialect, error: unknown): unknown {
  if (error instanceof StorageUnreachable || classifyError(error) === 'other') return error
  return new StorageUnreachable(`${name} cannot be reached, or is too busy`, error)
}

/** How many milliseconds to wait before the next attempt; undefined if it would not help. */
export function getRetryDelay ({ classifyError }: Dialect, error: unknown, attempts: number): number | undefined {
  const retryDelay = retryDelays[attempts]
  if (retryDelay === undefined || classifyError(error) !== 'retry') return undefined
  // Random in part, so that writers that collided do not collide again.
  return retryDelay * (0.5 + Math.random())
}

/** Repeats an attempt as long as that can help. A failed attempt must leave nothing behind. */
export function retry<Result> (dialect: Dialect, attempt: () => Promise<Result>, attempts = 0): Promise<Result> {
  return attempt().catch(async (error: unknown) => {
    const retryDelay = getRetryDelay(dialect, error, attempts)
    if (retryDelay === undefined) throw toStorageError(dialect, error)
    await delay(retryDelay)
    return retry(dialect, attempt, attempts + 1)
  })
}
