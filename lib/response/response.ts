import type { Formatted } from '../formats/format.ts'
import type { Preferences } from '../http/prefer.ts'

/** Header fields by their names in lower case. */
export type HeaderFields = Readonly<Record<string, string>>

/** What an action responds with, unless it returns a problem. */
export interface Response {
  readonly status: number
  readonly fields: HeaderFields
  readonly content: Formatted | undefined
  /** The preferences that the server followed, for Preference-Applied. */
  readonly applied?: Preferences | undefined
  /** Whether the response depends on the caller although the collection itself does not. */
  readonly personal?: boolean
}

const noFields: HeaderFields = Object.freeze({})

export function ok (content: Formatted, fields: HeaderFields, applied?: Preferences): Response {
  return { status: 200, fields, content, applied }
}

export function noContent (fields: HeaderFields = noFields): Response {
  return { status: 204, fields, content: undefined }
}

/** Removes the content from the response to a write. */
export function withoutContent (response: Response): Response {
  const { status, fields: { 'content-type': type, 'content-location': location, ...fields } } = response
  return { status: status === 200 ? 204 : status, fields, content: undefined }
}

/** RFC 9110, section 15.4.5. */
export function notModified (fields: HeaderFields, applied?: Preferences): Response {
  return { status: 304, fields, content: undefined, applied }
}

/** RFC 9110, sections 15.4.2 and 15.4.9. Content-Length is set here, so that HEAD and GET send the same. */
export function moved (location: string, status: 301 | 308): Response {
  return { status, fields: { location, 'content-length': '0' }, content: undefined }
}
