// RFC 9457: application/problem+json. docs/problems.md explains each problem.
import { STATUS_CODES } from 'node:http'

interface ProblemType {
  readonly status: number
  readonly title: string
}

/** The first problem of a status is used if only the status is known. */
export const problems = {
  'malformed-content': { status: 400, title: 'The content cannot be parsed' },
  'invalid-query': { status: 400, title: 'A query parameter is invalid' },
  'idempotency-key-missing': { status: 400, title: 'Idempotency-Key is missing' },
  'idempotency-key-malformed': { status: 400, title: 'Idempotency-Key is malformed' },
  'bad-request': { status: 400, title: 'The request is invalid' },
  unauthenticated: { status: 401, title: 'Credentials are missing or invalid' },
  forbidden: { status: 403, title: 'The caller is not allowed to do this' },
  'not-found': { status: 404, title: 'There is no resource at this URI' },
  'method-not-allowed': { status: 405, title: 'The method is not supported at this URI' },
  'not-acceptable': { status: 406, title: 'None of the accepted media types is available' },
  'request-timeout': { status: 408, title: 'The request was received too slowly' },
  conflict: { status: 409, title: 'The request conflicts with the state of the resource' },
  'not-unique': { status: 409, title: 'Another item already has this value' },
  'concurrent-update': { status: 409, title: 'The item was changed by other requests' },
  'patch-test-failed': { status: 409, title: 'A test operation of the patch failed' },
  'idempotency-key-in-use': { status: 409, title: 'A request with this Idempotency-Key is still running' },
  gone: { status: 410, title: 'The item was deleted' },
  'precondition-failed': { status: 412, title: 'The precondition failed' },
  'content-too-large': { status: 413, title: 'The content is too large' },
  'uri-too-long': { status: 414, title: 'The URI is too long' },
  'unsupported-media-type': { status: 415, title: 'The media type of the content is not supported' },
  'unsupported-content-coding': { status: 415, title: 'The content coding is not supported' },
  'expectation-failed': { status: 417, title: 'The expectation cannot be met' },
  'validation-failed': { status: 422, title: 'The content is invalid' },
  'patch-not-applicable': { status: 422, title: 'The patch cannot be applied to the item' },
  'idempotency-key-reused': { status: 422, title: 'The Idempotency-Key was used for another request' },
  'precondition-required': { status: 428, title: 'A precondition is required' },
  'too-many-requests': { status: 429, title: 'Too many requests' },
  'headers-too-large': { status: 431, title: 'The headers are too large' },
  'internal-error': { status: 500, title: 'An internal error occurred' },
  'not-implemented': { status: 501, title: 'The method is not implemented' },
  'service-unavailable': { status: 503, title: 'The service is unavailable' },
  'storage-unavailable': { status: 503, title: 'The storage is unavailable' },
  timeout: { status: 503, title: 'The request took too long' },
  'http-version-not-supported': { status: 505, title: 'The HTTP version is not supported' }
} as const satisfies Record<string, ProblemType>

export type ProblemName = keyof typeof problems

export interface ProblemDetails {
  /** A sentence about this occurrence. */
  readonly detail?: string
  /** Further headers of the response, in lower case. */
  readonly fields?: Readonly<Record<string, string>>
  /** Further members of the content. */
  readonly members?: Readonly<Record<string, unknown>>
}

/** Thrown, but not an Error: it becomes a response and needs no stack. */
export class Problem {
  readonly status: number
  readonly name: ProblemName | undefined
  readonly detail: string | undefined
  readonly fields: Readonly<Record<string, string>> | undefined
  readonly members: Readonly<Record<string, unknown>> | undefined

  constructor (status: number, name: ProblemName | undefined, details: ProblemDetails) {
    this.status = status
    this.name = name
    this.detail = details.detail
    this.fields = details.fields
    this.members = details.members
  }
}

/**
 * A problem (RFC 9457) to throw in a hook, which becomes the response.
 *
 * @example
 * throw problem('forbidden', { detail: 'Orders cannot be changed after they are shipped.' })
 */
export function problem (name: ProblemName, details: ProblemDetails = {}): Problem {
  return new Problem(problems[name].status, name, details)
}

/** RFC 9110, section 15, renamed two phrases that Node.js still has. */
const phrases: Readonly<Record<number, string | undefined>> = {
  ...STATUS_CODES,
  413: 'Content Too Large',
  422: 'Unprocessable Content'
}

/** The detail of a write that failed after it may have been done. */
export const outcomeUnknown = 'It is unknown whether the write is done and will last. ' +
  'Repeat the request if it has an Idempotency-Key; otherwise read the item first.'

const byStatus = new Map<number, ProblemName>()
for (const [name, { status }] of Object.entries(problems)) {
  if (!byStatus.has(status)) byStatus.set(status, name as ProblemName)
}

/** Creates the problem for a status of which nothing more is known. */
export function getProblemForStatus (status: number, details: ProblemDetails = {}): Problem {
  return new Problem(status, byStatus.get(status), details)
}

/** Returns the title of a problem, which is the same for every occurrence. */
export function getTitle ({ name, status }: Problem): string {
  return name === undefined ? getStatusPhrase(status) : problems[name].title
}

export function getStatusPhrase (status: number): string {
  return phrases[status] ?? 'Unknown'
}

/**
 * Formats a problem as JSON. Without a base URI the type is about:blank, and the title is the phrase of the status
 * (RFC 9457, section 4.2.1). `code` is the name of the problem in both cases.
 */
export function formatProblem (problem: Problem, base: string | undefined, instance: string | undefined): string {
  const { name, status, detail, members } = problem
  const hasType = name !== undefined && base !== undefined
  return JSON.stringify({
    type: hasType ? base + name : 'about:blank',
    title: hasType ? problems[name].title : getStatusPhrase(status),
    status,
    detail,
    instance,
    code: name,
    ...members
  })
}
