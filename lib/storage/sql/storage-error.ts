import { setTimeout as delay } from 'node:timers/promises'
import { StorageUnreachable } from '../unreachable.ts'
import type { SqlDialect, ErrorKind, FailureKind } from './dialect.ts'
import { isInstance, readAggregatedTexts } from './driver-error.ts'

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

const retryHint = 'Repeat the request after the time in the header Retry-After.'

/** What the log and the client get. The log has the error of the driver as well. */
const descriptions: Readonly<Record<FailureKind, { readonly message: string, readonly detail?: string }>> = {
  unreachable: { message: 'cannot be reached, or is too busy' },
  contended: {
    message: 'gave precedence to other transactions each time',
    detail: `Other requests changed the same data each time. ${retryHint}`
  },
  'read-only': {
    message: 'is read-only, and refused a write',
    detail: `The database of the server is read-only at the moment. ${retryHint}`
  },
  full: {
    message: 'has no space left, and refused a write',
    detail: `The database of the server is full. ${retryHint}`
  },
  'io-error': {
    message: 'cannot read or write its file, such as beyond a limit of its size, or on a disk that fails',
    detail: `The server cannot read or write the file of its database. ${retryHint}`
  },
  exhausted: {
    message: 'has no free connection: those of the pool are in use, or the server accepts no more',
    detail: `All connections to the database of the server are in use. ${retryHint}`
  },
  'missing-table': {
    message: 'lacks a table of the definition. Create it with createTable(), or run the missing migration',
    detail: `A table does not exist in the database of the server. It may not have been created yet. ${retryHint}`
  },
  mismatch: {
    message: 'has a table that does not match its definition. Run the missing migration',
    detail: `A table of the database does not match the server, as before a migration. ${retryHint}`
  }
}

/** Converts an error of the driver to the error to throw. */
export function toStorageError (dialect: SqlDialect, error: unknown): unknown {
  if (isInstance(error, StorageUnreachable)) return error
  const kind = dialect.errors.classifyError(error)
  return kind === 'other' ? error : createStorageError(dialect, kind === 'retry' ? 'contended' : kind, error)
}

/** Converts the error of an attempt to get a connection. */
export function toConnectError (dialect: SqlDialect, error: unknown): unknown {
  const kind = dialect.errors.classifyError(error)
  return kind === 'unreachable' ? createStorageError(dialect, kind, error, true) : error
}

/** Unless the server or its file could not be reached, it has refused the statement. */
export function createStorageError (
  { name }: SqlDialect,
  kind: FailureKind,
  cause: unknown,
  hasNoEffect = kind !== 'unreachable' && kind !== 'io-error'
): StorageUnreachable {
  const { message, detail } = descriptions[kind]
  const reasons = readAggregatedTexts(cause)
  const reason = reasons.length === 0 ? '' : `: ${reasons.join(', ')}`
  return new StorageUnreachable(`${name} ${message}${reason}`, cause, {
    detail,
    hasNoEffect,
    isContention: kind === 'contended'
  })
}

/** Whether a connection is closed after an error. One to a server that is read-only may lead to a former primary. */
export function isBroken ({ errors: { classifyError } }: SqlDialect, error: unknown): boolean {
  const kind = classifyError(error)
  return kind === 'unreachable' || kind === 'read-only' || kind === 'exhausted'
}

/** How many milliseconds to wait before the next attempt; undefined if it would not help. */
export function getRetryDelay ({ errors }: SqlDialect, error: unknown, attempts: number): number | undefined {
  const retryDelay = retryDelays[attempts]
  if (retryDelay === undefined || errors.classifyError(error) !== 'retry') return undefined
  // Random in part, so that writers that collided do not collide again.
  return retryDelay * (0.5 + Math.random())
}

/** Repeats an attempt as long as that can help. A failed attempt must leave nothing behind. */
export function retry<Result> (
  dialect: SqlDialect,
  attempt: (isRepeated: boolean) => Promise<Result>,
  attempts = 0
): Promise<Result> {
  return attempt(attempts > 0).catch(async (error: unknown) => {
    const retryDelay = getRetryDelay(dialect, error, attempts)
    if (retryDelay === undefined) throw toStorageError(dialect, error)
    await delay(retryDelay)
    return retry(dialect, attempt, attempts + 1)
  })
}
