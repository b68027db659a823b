import type { Preferences } from '../http/prefer.ts'

export type Fields = Readonly<Record<string, string>>

/** What an action decides. */
export interface Answer {
  readonly status: number
  readonly fields: Fields
  readonly content: string | undefined
  /** The preferences that were followed. */
  readonly applied?: Preferences | undefined
  /** Whether it depends on who asks although the collection itself does not. */
  readonly personal?: boolean
}

const none: Fields = Object.freeze({})

export function ok (content: string, fields: Fields, applied?: Preferences): Answer {
  return { status: 200, fields, content, applied }
}

export function noContent (fields: Fields = none): Answer {
  return { status: 204, fields, content: undefined }
}

/** The same answer to a write, without its content. */
export function withoutContent ({ status, fields: { 'content-type': type, 'content-location': location, ...fields } }: Answer): Answer {
  return { status: status === 200 ? 204 : status, fields, content: undefined }
}

/** RFC 9110 section 15.4.5. */
export function notModified (fields: Fields, applied?: Preferences): Answer {
  return { status: 304, fields, content: undefined, applied }
}

/** RFC 9110 sections 15.4.2 and 15.4.9. It has no content, which HEAD tells as GET does. */
export function moved (location: string, status: 301 | 308): Answer {
  return { status, fields: { location, 'content-length': '0' }, content: undefined }
}
