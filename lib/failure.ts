import { validateHeaderName, validateHeaderValue } from 'node:http'
import { codings, UndecodableContent } from './http/content-encoding.ts'
import { Problem, problem, getProblemForStatus } from './http/problems.ts'

interface Thrown {
  readonly statusCode?: unknown
  readonly status?: unknown
  readonly message?: unknown
  readonly headers?: unknown
}

/** What an action has thrown, most likely its storage. The status and the text of a driver's error are not meant for clients; an error of ours can state a `problem`. */
export class Fault extends Error {
  readonly unreachable: boolean
  readonly retryAfter: unknown

  constructor (cause: unknown) {
    super('The request failed.', { cause })
    this.name = 'Fault'
    const { unreachable, retryAfter } = Object(cause) as { unreachable?: unknown, retryAfter?: unknown }
    this.unreachable = unreachable === true
    this.retryAfter = retryAfter
  }
}

/** What a hook of the definition has thrown. It goes the way of every other error of the app, in its own words. */
export class HookError {
  readonly cause: unknown

  constructor (cause: unknown) {
    this.cause = cause
  }
}

/** What whatever was thrown is called in HTTP. `status` is what the reply bears already, and `retry` whether it says when to come back. */
export function problemOfError (thrown: unknown, status: number, retry: boolean): Problem {
  if (thrown instanceof Problem) return thrown
  if (thrown instanceof UndecodableContent) return problem('unsupported-content-coding', { detail: thrown.message, fields: { 'accept-encoding': codings.join(', ') } })
  if (thrown instanceof Fault) return problemOfFault(thrown)
  const error: Thrown = typeof thrown === 'object' && thrown !== null ? thrown : {}
  const fields = fieldsOf(error)
  const known = statusOf(error) ?? failure(status) ?? 500
  // What a fault says is the server's own affair.
  if (known >= 500) return getProblemForStatus(known, { fields: known === 503 && !retry ? { 'retry-after': '1', ...fields } : fields })
  return getProblemForStatus(known, typeof error.message === 'string' ? { detail: error.message, fields } : { fields })
}

interface Log {
  info (details: object, message: string): void
  error (details: object, message: string): void
}

/**
 * Logs what a response of 500 or above was caused by. A problem was thrown on purpose, so it is no failure.
 * An error with a status of its own is one, as it is for Fastify's own error handler.
 */
export function logFailure (log: Log, thrown: unknown, { status, name, detail }: Problem): void {
  if (status < 500) return
  if (thrown instanceof Problem) log.info({ problem: { status, code: name, detail } }, 'request refused')
  else log.error({ err: thrown instanceof Fault ? thrown.cause : thrown }, 'request failed')
}

/** The status that an error bears; undefined where it says nothing of HTTP. */
export function statusOf (thrown: unknown): number | undefined {
  const { statusCode, status } = Object(thrown) as Thrown
  return failure(statusCode) ?? failure(status)
}

function failure (status: unknown): number | undefined {
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status < 600 ? status : undefined
}

function problemOfFault ({ cause, unreachable, retryAfter }: Fault): Problem {
  const { problem: stated } = Object(cause) as { problem?: unknown }
  if (stated instanceof Problem) return stated
  return unreachable ? problemOfUnreachable(retryAfter) : problem('internal-error')
}

function problemOfUnreachable (retryAfter: unknown): Problem {
  const seconds = typeof retryAfter === 'number' && retryAfter >= 0 && retryAfter < Infinity ? Math.ceil(retryAfter) : 1
  return problem('storage-unavailable', { fields: { 'retry-after': String(seconds) } })
}

/** An error may bring header fields, as those of http-errors do; not those that are about another content than ours. */
function fieldsOf ({ headers }: Thrown): Record<string, string> {
  if (typeof headers !== 'object' || headers === null) return {}
  const fields = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)] as const)
  return Object.fromEntries(fields.filter(([name, value]) => !framing.test(name) && isField(name, value)))
}

/** What cannot stand in a header section would keep the whole answer from being sent. */
function isField (name: string, value: string): boolean {
  try {
    validateHeaderName(name)
    validateHeaderValue(name, value)
    return true
  } catch {
    return false
  }
}

const framing = /^(?:content-.*|transfer-encoding|connection|keep-alive|trailer|upgrade)$/
