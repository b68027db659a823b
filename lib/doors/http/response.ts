import type { Formatted } from '../../formats/format.ts'
import type { CachePolicy } from '../../http/cache-control.ts'
import type { Preferences } from '../../http/prefer.ts'
import { Problem } from '../../http/problems.ts'

/** Header fields by their names in lower case. */
export type Headers = Readonly<Record<string, string>>

/** What an action responds with, unless it returns a problem. */
export interface Response {
  readonly status: number
  readonly headers: Headers
  readonly content: Formatted | undefined
  /** The preferences that the server followed, for Preference-Applied. */
  readonly applied?: Preferences | undefined
  /** Whether the response depends on the caller although the collection itself does not. */
  readonly dependsOnCaller?: boolean
  /** The policies of the other collections that the response depends on. */
  readonly policies?: readonly CachePolicy[]
  /** The request headers that identify the caller to the other collections that the response depends on. */
  readonly vary?: readonly string[]
}

/** What a request leads to. A problem is a result as well: only failures are thrown. */
export type Result = Response | Problem

const noHeaders: Headers = Object.freeze({})

export function ok (content: Formatted, headers: Headers, applied?: Preferences): Response {
  return { status: 200, headers, content, applied }
}

export function noContent (headers: Headers = noHeaders): Response {
  return { status: 204, headers, content: undefined }
}

/** Marks a response to an operation that an earlier request with the same key has done. */
export function markReplayed (result: Result): Result {
  if (result instanceof Problem) return result
  return { ...result, headers: { ...result.headers, 'idempotent-replayed': 'true' } }
}

/** Removes the content from the response to a write. */
export function withoutContent (response: Response): Response {
  const { status, headers: { 'content-type': type, 'content-location': location, ...headers } } = response
  return { status: status === 200 ? 204 : status, headers, content: undefined }
}

/** RFC 9110, section 15.4.5. It has the headers of the 200, without those of the content. */
export function notModified ({ 'content-type': type, ...headers }: Headers): Response {
  return { status: 304, headers, content: undefined }
}

/** RFC 9110, sections 15.4.2 and 15.4.9. Content-Length is set here, so that HEAD and GET send the same. */
export function moved (location: string, status: 301 | 308): Response {
  return { status, headers: { location, 'content-length': '0' }, content: undefined }
}
