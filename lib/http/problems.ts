// RFC 9457: application/problem+json. docs/problems.md explains each problem.
import { STATUS_CODES } from 'node:http'

interface ProblemType {
  readonly status: number
  readonly title: string
  /** A sentence for occurrences of which nothing more is known. */
  readonly detail: string
}

/** The first problem of a status is used if only the status is known. */
export const problems = {
  'malformed-content': {
    status: 400,
    title: 'The content cannot be parsed',
    detail: 'The content is not valid in its media type. Check its syntax.'
  },
  'invalid-query': {
    status: 400,
    title: 'A query parameter is invalid',
    detail: 'A query parameter is unknown, or its value is invalid.'
  },
  'idempotency-key-missing': {
    status: 400,
    title: 'Idempotency-Key is missing',
    detail: 'Repeat the request with the header Idempotency-Key.'
  },
  'idempotency-key-malformed': {
    status: 400,
    title: 'Idempotency-Key is malformed',
    detail: 'The header Idempotency-Key must be a string in quotation marks of up to 255 characters.'
  },
  'bad-request': {
    status: 400,
    title: 'The request is invalid',
    detail: 'The request is not valid HTTP, or the server does not support this combination of headers.'
  },
  unauthenticated: {
    status: 401,
    title: 'Credentials are missing or invalid',
    detail: 'Repeat the request with valid credentials.'
  },
  forbidden: {
    status: 403,
    title: 'The caller is not allowed to do this',
    detail: 'These credentials do not allow this request.'
  },
  'cross-origin': {
    status: 403,
    title: 'A page of another origin has sent the request',
    detail: 'A page of another origin has sent the request without a CORS preflight. ' +
      'Send it with a Content-Type of the API, such as application/json, and allow the origin with CORS, ' +
      'with credentials if the page sends cookies.'
  },
  'not-found': {
    status: 404,
    title: 'There is no resource at this URI',
    detail: 'No resource has this path, or it is not visible to the caller.'
  },
  'method-not-allowed': {
    status: 405,
    title: 'The method is not supported at this URI',
    detail: 'The header Allow lists the methods that this resource supports.'
  },
  'not-acceptable': {
    status: 406,
    title: 'None of the accepted media types is available',
    detail: 'The header Accept has to contain a media type that is available.'
  },
  'request-timeout': {
    status: 408,
    title: 'The request was received too slowly',
    detail: 'The server did not receive the whole request in time. Repeat it on a new connection.'
  },
  conflict: {
    status: 409,
    title: 'The request conflicts with the state of the resource',
    detail: 'The request conflicts with the state of the resource. Read it again, then decide.'
  },
  'not-unique': {
    status: 409,
    title: 'Another item already has this value',
    detail: 'Choose another value: an item with this one already exists.'
  },
  'concurrent-update': {
    status: 409,
    title: 'The item was changed by other requests',
    detail: 'Other requests changed the item at the same time. Repeat the request.'
  },
  'too-many-matches': {
    status: 409,
    title: 'Too many items match',
    detail: 'More items match than one request can change. Add conditions, and repeat the request.'
  },
  'patch-test-failed': {
    status: 409,
    title: 'A test operation of the patch failed',
    detail: 'The item does not have the value that a test operation of the patch expects.'
  },
  'idempotency-key-in-use': {
    status: 409,
    title: 'A request with this Idempotency-Key is still running',
    detail: 'Repeat the request after the time in the header Retry-After.'
  },
  'batch-failed': {
    status: 409,
    title: 'A part of the batch was refused',
    detail: 'A part of the batch was refused. Nothing was written.'
  },
  gone: {
    status: 410,
    title: 'The item was deleted',
    detail: 'The item at this URI was deleted.'
  },
  'precondition-failed': {
    status: 412,
    title: 'The precondition failed',
    detail: 'The resource has changed. Read it again, then decide.'
  },
  'content-too-large': {
    status: 413,
    title: 'The content is too large',
    detail: 'Send less content: the server limits its size.'
  },
  'uri-too-long': {
    status: 414,
    title: 'The URI is too long',
    detail: 'Send a shorter URI, or the query as the content of a QUERY request.'
  },
  'unsupported-media-type': {
    status: 415,
    title: 'The media type of the content is not supported',
    detail: 'Send the content in a supported media type, and name it in the header Content-Type.'
  },
  'unsupported-content-coding': {
    status: 415,
    title: 'The content coding is not supported',
    detail: 'Send the content without Content-Encoding, or in one that the header Accept-Encoding lists.'
  },
  'validation-failed': {
    status: 422,
    title: 'The content is invalid',
    detail: 'The content is not valid for this resource.'
  },
  'patch-not-applicable': {
    status: 422,
    title: 'The patch cannot be applied to the item',
    detail: 'The patch refers to a value that the item does not have.'
  },
  'idempotency-key-reused': {
    status: 422,
    title: 'The Idempotency-Key was used for another request',
    detail: 'Use a new Idempotency-Key for each new request.'
  },
  'precondition-required': {
    status: 428,
    title: 'A precondition is required',
    detail: 'Read the item, then repeat the request with the header If-Match and the ETag of that response.'
  },
  'too-many-requests': {
    status: 429,
    title: 'Too many requests',
    detail: 'Wait before the next request. The header Retry-After has the number of seconds, if it is known.'
  },
  'headers-too-large': {
    status: 431,
    title: 'The headers are too large',
    detail: 'Send fewer or shorter headers.'
  },
  'internal-error': {
    status: 500,
    title: 'An internal error occurred',
    detail: 'The request failed because of an error in the server. Repeat it later, or report it.'
  },
  'not-implemented': {
    status: 501,
    title: 'The method is not implemented',
    detail: 'The server does not support this method or transfer coding.'
  },
  'service-unavailable': {
    status: 503,
    title: 'The service is unavailable',
    detail: 'The server cannot process the request now. Repeat it after the time in the header Retry-After.'
  },
  'storage-unavailable': {
    status: 503,
    title: 'The storage is unavailable',
    detail: 'The database of the server does not respond. Repeat the request after the time in the header Retry-After.'
  },
  timeout: {
    status: 503,
    title: 'The request took too long',
    detail: 'The request took too long and was canceled. Repeat it after the time in the header Retry-After.'
  },
  'http-version-not-supported': {
    status: 505,
    title: 'The HTTP version is not supported',
    detail: 'Use HTTP/1.1.'
  }
} as const satisfies Record<string, ProblemType>

/** The code of a problem. docs/problems.md lists all of them. */
export type ProblemName = keyof typeof problems

/** What a problem says about one occurrence. */
export interface ProblemDetails {
  /** A sentence about this occurrence. Each problem has a default. */
  readonly detail?: string
  /** Further headers of the response, in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** Further properties of the content. */
  readonly properties?: Readonly<Record<string, unknown>>
}

/** Thrown, but not an Error: it becomes a response and needs no stack. */
export class Problem {
  readonly status: number
  readonly name: ProblemName | undefined
  readonly detail: string | undefined
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly properties: Readonly<Record<string, unknown>> | undefined

  constructor (status: number, name: ProblemName | undefined, details: ProblemDetails) {
    this.status = status
    this.name = name
    this.detail = details.detail
    this.headers = details.headers
    this.properties = details.properties
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

/** Returns a sentence about the problem. Every problem has one, whether or not its cause has a message. */
export function getDetail ({ name, status, detail }: Problem): string {
  if (detail !== undefined && detail !== '') return detail
  if (name !== undefined) return problems[name].detail
  return `The server responded with ${status} (${getStatusPhrase(status)}).`
}

export function getStatusPhrase (status: number): string {
  return phrases[status] ?? 'Unknown'
}

/**
 * Formats a problem as JSON. Without a base URI the type is about:blank, and the title is the phrase of the status
 * (RFC 9457, section 4.2.1). `code` is the name of the problem in both cases.
 */
export function formatProblem (problem: Problem, base: string | undefined, instance: string | undefined): string {
  const { name, status, properties } = problem
  const hasType = name !== undefined && base !== undefined
  return JSON.stringify({
    type: hasType ? base + name : 'about:blank',
    title: hasType ? problems[name].title : getStatusPhrase(status),
    status,
    detail: getDetail(problem),
    instance,
    code: name,
    ...properties
  })
}
