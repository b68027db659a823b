import { setTimeout as delay } from 'node:timers/promises'
import type { Unreachable } from '../contract.ts'
import type { Dialect, Fault } from './dialect.ts'

/** Told to the client as 503, with the driver's error as its cause for the log. */
export class StorageUnreachable extends Error implements Unreachable {
  readonly unreachable = true
  readonly retryAfter = 1

  constructor (message: string, cause: unknown) {
    super(message, { cause })
    this.name = 'StorageUnreachable'
  }
}

/** What Node.js says of a server that is not there, or no longer. */
export const networkFaults: Readonly<Record<string, Fault>> = {
  ECONNREFUSED: 'passing',
  ECONNRESET: 'passing',
  EPIPE: 'passing',
  ETIMEDOUT: 'passing',
  EHOSTUNREACH: 'passing',
  ENETUNREACH: 'passing',
  EAI_AGAIN: 'passing',
  ENOENT: 'passing' // the socket of a local server that is down
}

/** Milliseconds ahead of each further attempt. */
const pauses = [4, 12, 36, 108, 324]

/** The error to throw in place of a driver's. */
export function told ({ fault, name }: Dialect, error: unknown): unknown {
  if (error instanceof StorageUnreachable || fault(error) === 'other') return error
  return new StorageUnreachable(`${name} cannot be reached now, or is too busy`, error)
}

/** How long to wait before it is done again, where that can help. */
export function pauseAfter ({ fault }: Dialect, error: unknown, attempts: number): number | undefined {
  const pause = pauses[attempts]
  // By chance, in part: those who collided do not meet again.
  return pause === undefined || fault(error) !== 'again' ? undefined : pause * (0.5 + Math.random())
}

/** Does it again where that can help. Each attempt must stand alone: what failed has left nothing behind. */
export function retried<Result> (dialect: Dialect, attempt: () => Promise<Result>, count = 0): Promise<Result> {
  return attempt().catch(async (error: unknown) => {
    const pause = pauseAfter(dialect, error, count)
    if (pause === undefined) throw told(dialect, error)
    await delay(pause)
    return retried(dialect, attempt, count + 1)
  })
}

export function abandoned (signal: AbortSignal): StorageUnreachable {
  return new StorageUnreachable('Not waited for any longer', signal.reason)
}
