import type { JsonSchema } from '../storage/contract.ts'
import type { Components, Reference } from './components.ts'
import { pascal } from './names.ts'

// Header fields, of requests and of answers.

/** Node reads no header section that is longer; `maxHeaderSize` is the same unless it is told otherwise. */
export const longestField = 16_384

/** RFC 9110 section 5.5, without what is obsolete. */
const visible = '^[\\t\\x20-\\x7E]*$'
const text: JsonSchema = { type: 'string', maxLength: longestField, pattern: visible }
const tag: JsonSchema = { type: 'string', maxLength: longestField, pattern: '^(W/)?"[\\x21\\x23-\\x7E]*"$' }
const date: JsonSchema = { type: 'string', maxLength: 29, pattern: '^[A-Z][a-z]{2}, \\d{2} [A-Z][a-z]{2} \\d{4} \\d{2}:\\d{2}:\\d{2} GMT$' }
const reference: JsonSchema = { type: 'string', format: 'uri-reference', maxLength: longestField }
const seconds: JsonSchema = { type: 'integer', format: 'int32', minimum: 0, maximum: 2_147_483_647 }
const count: JsonSchema = { type: 'integer', format: 'int64', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }

const moment = 'Sat, 31 Jan 2026 12:00:00 GMT'
const exampleTag = '"q3Jx0kPZb7mYw2Lr.h8Tn_4.json"'

interface Field {
  readonly description: string
  readonly schema: JsonSchema
  readonly example?: string | number
}

const answered = {
  ETag: { description: 'The entity tag of the representation, for If-None-Match and If-Match (RFC 9110, 8.8.3)', schema: tag, example: exampleTag },
  'Last-Modified': { description: 'When it last changed (RFC 9110, 8.8.2)', schema: date, example: moment },
  Link: { description: 'Where one can go from here: next, prev, first, collection, service-desc (RFC 8288)', schema: text, example: '</users>; rel="collection"' },
  Location: { description: 'The URI of the new item (RFC 9110, 10.2.2)', schema: reference, example: '/users/1' },
  'Content-Location': { description: 'The URI of what the content represents (RFC 9110, 8.7)', schema: reference, example: '/users/1' },
  'X-Total-Count': { description: 'How many items match in all, where it was asked for', schema: count, example: 42 },
  'Content-Range': { description: 'Which items of how many these are, where they were asked for by range', schema: text, example: 'users 0-24/319' },
  'Cache-Control': { description: 'Whether and how long it may be kept (RFC 9111, 5.2)', schema: text, example: 'no-cache' },
  'Cache-Groups': { description: 'What this answer is invalidated with (RFC 9875)', schema: text, example: '"users"' },
  'Cache-Group-Invalidation': { description: 'What this write makes out of date (RFC 9875)', schema: text, example: '"users"' },
  Vary: { description: 'The fields of the request that the answer depends on (RFC 9110, 12.5.5)', schema: text, example: 'Accept' },
  'Preference-Applied': { description: 'The preferences that were followed (RFC 7240, 3)', schema: text, example: 'return=minimal' },
  'Retry-After': { description: 'After how many seconds to try again (RFC 9110, 10.2.3)', schema: seconds, example: 1 },
  Deprecation: { description: 'Since when it is deprecated (RFC 9745)', schema: text, example: '@1767225600' },
  Sunset: { description: 'When it will be gone (RFC 8594)', schema: date, example: moment },
  'WWW-Authenticate': { description: 'How to authenticate (RFC 9110, 11.6.1)', schema: text, example: 'Bearer' },
  Accept: { description: 'The media types that are taken (RFC 9110, 12.5.1)', schema: text, example: 'application/json' },
  'Accept-Patch': { description: 'The media types of patches that are taken (RFC 5789, 3.1)', schema: text, example: 'application/merge-patch+json' },
  'Accept-Encoding': { description: 'The content codings that are taken (RFC 9110, 12.5.3)', schema: text, example: 'gzip' }
} satisfies Record<string, Field>

export type AnsweredField = keyof typeof answered

/** The header fields of an answer, by name. */
export function headersOf (components: Components, names: readonly AnsweredField[]): Record<string, Reference> {
  return Object.fromEntries(names.map(name => [name, components.reference('headers', pascal(name), () => answered[name])]))
}

const asked = {
  'If-Match': { description: 'Only where the item still has one of these entity tags; otherwise 412 (RFC 9110, 13.1.1)', schema: text, example: exampleTag },
  'If-None-Match': { description: 'Only where it has none of these entity tags (RFC 9110, 13.1.2)', schema: text, example: exampleTag },
  'If-Modified-Since': { description: 'Only where it has changed since (RFC 9110, 13.1.3)', schema: date, example: moment },
  'If-Unmodified-Since': { description: 'Only where it has not changed since (RFC 9110, 13.1.4)', schema: date, example: moment },
  'Idempotency-Key': { description: 'The same for each repetition of one request, which is then done once', schema: text, example: '"8e03978e-40d5-43dd-bc93-6894a57f9324"' },
  Prefer: { description: 'What the client would rather have: return=minimal, return=representation, handling=lenient, count=exact (RFC 7240)', schema: text, example: 'return=minimal' }
} satisfies Record<string, Field>

export type AskedField = keyof typeof asked

/** The header fields of a request; one that is required is another component. */
export function fieldParameters (components: Components, names: readonly AskedField[], required: readonly AskedField[]): Reference[] {
  return names.map(name => {
    const needed = required.includes(name)
    return components.reference('parameters', pascal(name) + (needed ? 'Required' : ''), () => ({ name, in: 'header', required: needed, ...asked[name] }))
  })
}
