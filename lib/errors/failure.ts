import { validateHeaderName, validateHeaderValue } from 'node:http'
import { codings, UndecodableContent } from '../http/content-encoding.ts'
import { Problem, problem, getDetail, getProblemForStatus, outcomeUnknown } from '../http/problems.ts'
import type { ProblemName } from '../http/problems.ts'
import type { Unreachable } from '../storage/contract.ts'

interface Thrown {
  readonly statusCode?: unknown
  readonly status?: unknown
  readonly message?: unknown
  readonly headers?: unknown
}

/**
 * An error that an action has thrown, most likely its storage. The status and the message of a driver's error are not
 * meant for clients; an error of this library can have a `problem`.
 */
export class ActionError extends Error {
  readonly unreachable: boolean
  readonly retryAfter: unknown

  constructor (cause: unknown) {
    super('The request failed.', { cause })
    this.name = 'ActionError'
    const { retryAfter } = Object(cause) as { retryAfter?: unknown }
    this.unreachable = isUnreachable(cause)
    this.retryAfter = retryAfter
  }
}

/** Whether a write that has failed is certainly not done. */
export function hasNoEffect (thrown: unknown): boolean {
  return (Object(thrown) as Partial<Unreachable>).hasNoEffect === true
}

/** Whether the storage could not be reached: 503. */
export function isUnreachable (thrown: unknown): boolean {
  return (Object(thrown) as { unreachable?: unknown }).unreachable === true
}

/** An error that a function of the definition has thrown. It is handled like any other error of the app. */
export class HookError {
  readonly cause: unknown

  constructor (cause: unknown) {
    this.cause = cause
  }
}

/** What a call from code is about. */
export interface CallTarget {
  readonly collection: string
  readonly id?: string | number | undefined
}

/**
 * A call from code was refused. If a hook or a custom action of a collection does not catch it, the response is a 409,
 * because the problem is not about what the client requested.
 *
 * @example
 * try {
 *   await app.collection(users).create({ email })
 * } catch (error) {
 *   if (error instanceof ProblemError && error.code === 'not-unique') return 'This address is registered already.'
 *   throw error
 * }
 */
export class ProblemError extends Error {
  readonly problem: Problem
  /** The status that an HTTP response would have. Fastify reads it. */
  readonly statusCode: number
  /** The name of the problem, such as `not-found`. docs/problems.md lists all. */
  readonly code: ProblemName | undefined
  /** The validation errors, by property. */
  readonly errors: ReadonlyArray<{ readonly pointer: string, readonly message: string }>

  constructor (problem: Problem, target?: CallTarget, options?: ErrorOptions) {
    const errors = (problem.properties?.errors ?? []) as ProblemError['errors']
    super(buildMessage(problem, errors, target), options)
    this.name = 'ProblemError'
    this.problem = problem
    this.statusCode = problem.status
    this.code = problem.name
    this.errors = errors
  }
}

/** How many errors of a validation the message of a `ProblemError` has. */
const maxNamedErrors = 5

function buildMessage (problem: Problem, errors: ProblemError['errors'], target: CallTarget | undefined): string {
  const detail = getDetail(problem)
  if (target === undefined) return detail
  const { collection, id } = target
  const named = errors.slice(0, maxNamedErrors).map(({ pointer, message }) => `${pointer} ${message}`.trim())
  const more = errors.length > maxNamedErrors ? ', ...' : ''
  const place = id === undefined ? '' : `, item ${id}`
  return `Collection ${collection}${place}: ${detail}${named.length === 0 ? '' : ` ${named.join(', ')}${more}.`}`
}

/**
 * Returns the problem of a request whose hook or custom action has made a call that was refused, and has not caught it.
 * The path, the properties and the detail of the call mean nothing to the client, and could reveal what it cannot see.
 */
export function toOuterProblem ({ problem: inner }: ProblemError): Problem {
  const { status, name } = inner
  if (status >= 500) return inner
  const isGeneral = name === 'unauthenticated' || name === 'forbidden' || name === 'concurrent-update'
  return isGeneral ? problem(name) : problem('conflict', { detail: outerDetail })
}

const outerDetail = 'Something that the request refers to does not exist, or does not allow what the request needs.'

/**
 * Returns the problem for anything that was thrown. `replyStatus` is the status that the reply has already, and
 * `hasRetryAfter` whether it has the header Retry-After.
 */
export function errorToProblem (thrown: unknown, replyStatus: number, hasRetryAfter: boolean): Problem {
  if (thrown instanceof Problem) return thrown
  if (thrown instanceof ProblemError) return toOuterProblem(thrown)
  if (thrown instanceof UndecodableContent) {
    return problem('unsupported-content-coding', {
      detail: thrown.message,
      headers: { 'accept-encoding': codings.join(', ') }
    })
  }
  if (thrown instanceof ActionError) return actionErrorToProblem(thrown)
  // The storage of a call that a function of the app has made.
  if (isUnreachable(thrown)) return actionErrorToProblem(new ActionError(thrown))
  const error: Thrown = typeof thrown === 'object' && thrown !== null ? thrown : {}
  const headers = getHeaders(error)
  const status = getStatus(error) ?? toErrorStatus(replyStatus) ?? 500
  // The message of an internal error is not meant for clients.
  if (status >= 500) {
    const needsRetryAfter = status === 503 && !hasRetryAfter
    return getProblemForStatus(status, { headers: needsRetryAfter ? { 'retry-after': '1', ...headers } : headers })
  }
  const { message } = error
  return getProblemForStatus(status, typeof message === 'string' ? { detail: message, headers } : { headers })
}

interface Log {
  info (details: object, message: string): void
  warn (details: object, message: string): void
  error (details: object, message: string): void
}

/**
 * Logs the cause of a response of 500 or above. A problem was thrown on purpose, so it is not an error. An error with a
 * status is one, as it is for the error handler of Fastify. Fastify adds the id of the request.
 * The response to a call that was refused does not say which call that was, so the log does.
 */
export function logFailure (
  log: Log,
  thrown: unknown,
  { status, name, detail }: Problem,
  target: { readonly collection?: string, readonly action?: string } = {}
): void {
  const error = thrown instanceof ActionError ? thrown.cause : thrown
  if (status >= 500 && thrown instanceof Problem) {
    log.info({ ...target, problem: { status, code: name, detail } }, 'request refused')
  } else if (status >= 500 && isDisconnect(error)) {
    log.info(target, 'request aborted: the client has disconnected')
  } else if (status >= 500 && isContention(error)) {
    // Under load there are many, and the stacks of the library and the driver explain none of them.
    const { message, cause } = error
    log.warn({ ...target, reason: `${message}: ${(Object(cause) as Partial<Error>).message}` }, 'request failed')
  } else if (status >= 500) {
    log.error({ ...target, err: error }, 'request failed')
  } else if (error instanceof ProblemError) {
    log.info({ ...target, err: error }, 'request refused, because a call of the app was refused')
  }
}

/** Whether a storage has stopped because the client has disconnected. If its time is over, the cause is another one. */
function isDisconnect (thrown: unknown): boolean {
  const { unreachable, cause } = Object(thrown) as Partial<Unreachable>
  return unreachable === true && (Object(cause) as Partial<Error>).name === 'AbortError'
}

function isContention (thrown: unknown): thrown is Unreachable {
  return (Object(thrown) as Partial<Unreachable>).isContention === true
}

/** Returns the HTTP status of an error; undefined if it has none. */
export function getStatus (thrown: unknown): number | undefined {
  const { statusCode, status } = Object(thrown) as Thrown
  return toErrorStatus(statusCode) ?? toErrorStatus(status)
}

function toErrorStatus (status: unknown): number | undefined {
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status < 600 ? status : undefined
}

function actionErrorToProblem ({ cause, unreachable, retryAfter }: ActionError): Problem {
  if (cause instanceof ProblemError) return toOuterProblem(cause)
  const { problem: known, isOutcomeUnknown, detail } = Object(cause) as Record<string, unknown>
  if (known instanceof Problem) return known
  if (!unreachable) return problem('internal-error')
  const isDelay = typeof retryAfter === 'number' && retryAfter >= 0 && retryAfter < Infinity
  const seconds = isDelay ? Math.ceil(retryAfter) : 1
  const headers = { 'retry-after': String(seconds) }
  if (isOutcomeUnknown === true) return problem('storage-unavailable', { detail: outcomeUnknown, headers })
  return problem('storage-unavailable', typeof detail === 'string' ? { detail, headers } : { headers })
}

/** An error may have headers, as those of http-errors do. Headers about its own content are left out. */
function getHeaders ({ headers }: Thrown): Record<string, string> {
  if (typeof headers !== 'object' || headers === null) return {}
  const fields = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)] as const)
  return Object.fromEntries(fields.filter(([name, value]) => !framing.test(name) && isValidHeader(name, value)))
}

/** An invalid header would prevent the whole response from being sent. */
function isValidHeader (name: string, value: string): boolean {
  try {
    validateHeaderName(name)
    validateHeaderValue(name, value)
    return true
  } catch {
    return false
  }
}

const framing = /^(?:content-.*|transfer-encoding|connection|keep-alive|trailer|upgrade)$/
