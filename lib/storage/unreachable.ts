import type { Unreachable } from './contract.ts'

interface FailureOptions {
  readonly detail?: string | undefined
  /** Whether the statement was not sent, or refused. */
  readonly hasNoEffect?: boolean
  readonly isContention?: boolean
}

/** Sent to the client as 503. The error of the driver is its cause, for the log. */
export class StorageUnreachable extends Error implements Unreachable {
  readonly unreachable = true
  readonly retryAfter = 1
  /** For the client; undefined for the default. */
  readonly detail: string | undefined
  readonly hasNoEffect: boolean
  readonly isContention: boolean

  constructor (
    message: string,
    cause: unknown,
    { detail, hasNoEffect = false, isContention = false }: FailureOptions = {}
  ) {
    super(message, { cause })
    this.name = 'StorageUnreachable'
    this.detail = detail
    this.hasNoEffect = hasNoEffect
    this.isContention = isContention
  }
}

/** A write may have been done, and may be lost again. */
export class OutcomeUnknown extends StorageUnreachable {
  readonly isOutcomeUnknown = true
}

/** The request no longer waits for the statement, which may still run. */
export class RequestAborted extends StorageUnreachable {
  constructor (signal: AbortSignal, hasNoEffect = false) {
    super('The request was aborted before the storage responded', signal.reason, { hasNoEffect })
  }
}

/** A statement came after the end of its transaction. */
export class TransactionEnded extends Error {
  constructor () {
    super('The transaction has ended. Nothing more can be read or written in it.')
    this.name = 'TransactionEnded'
  }
}
