import type { JsonSchema } from '../storage/contract.ts'
import type { DescribedComponents, Reference } from '../engine/operation-object.ts'
import { toPascalCase } from './names.ts'

// The headers of requests and responses.

/** The default `maxHeaderSize` of Node.js: no header is longer. */
export const maxHeaderSize = 16_384

/** RFC 9110, section 5.5, without obsolete characters. */
const visibleCharacters = '^[\\t\\x20-\\x7E]*$'
const text: JsonSchema = { type: 'string', maxLength: maxHeaderSize, pattern: visibleCharacters }
/** Longer values are accepted. Tools that generate values of any length are slow. */
const requestText: JsonSchema = { ...text, maxLength: 1024 }
const uriReference: JsonSchema = { type: 'string', format: 'uri-reference', maxLength: maxHeaderSize }
const seconds: JsonSchema = { type: 'integer', format: 'int32', minimum: 0, maximum: 2_147_483_647 }
const count: JsonSchema = { type: 'integer', format: 'int64', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }

const entityTag: JsonSchema = {
  type: 'string',
  maxLength: maxHeaderSize,
  pattern: '^(W/)?"[\\x21\\x23-\\x7E]*"$'
}

const date: JsonSchema = {
  type: 'string',
  maxLength: 29,
  pattern: '^[A-Z][a-z]{2}, \\d{2} [A-Z][a-z]{2} \\d{4} \\d{2}:\\d{2}:\\d{2} GMT$'
}

const exampleDate = 'Sat, 31 Jan 2026 12:00:00 GMT'
const exampleTag = '"q3Jx0kPZb7mYw2Lr.h8Tn_4.json"'

interface Header {
  readonly description: string
  readonly schema: JsonSchema
  readonly example?: string | number
}

const responseHeaders = {
  ETag: {
    description: 'The entity tag of the representation, for If-None-Match and If-Match (RFC 9110, section 8.8.3)',
    schema: entityTag,
    example: exampleTag
  },
  'Last-Modified': {
    description: 'When the item last changed (RFC 9110, section 8.8.2)',
    schema: date,
    example: exampleDate
  },
  Link: {
    description: 'Links to related resources: next, prev, first, collection, service-desc (RFC 8288)',
    schema: text,
    example: '</users>; rel="collection"'
  },
  Location: {
    description: 'The URI of the new item (RFC 9110, section 10.2.2)',
    schema: uriReference,
    example: '/users/1'
  },
  'Content-Location': {
    description: 'The URI of the resource that the content represents (RFC 9110, section 8.7)',
    schema: uriReference,
    example: '/users/1'
  },
  'X-Total-Count': {
    description: 'The number of items that match, if the client requests it',
    schema: count,
    example: 42
  },
  'Content-Range': {
    description: 'The positions of these items and the number of all, if the client requests a range',
    schema: text,
    example: 'users 0-24/319'
  },
  'Cache-Control': {
    description: 'Whether caches may store the response, and for how long (RFC 9111, section 5.2)',
    schema: text,
    example: 'no-cache'
  },
  'Cache-Groups': {
    description: 'The groups that the response is invalidated with (RFC 9875)',
    schema: text,
    example: '"users"'
  },
  'Cache-Group-Invalidation': {
    description: 'The groups of responses that the write invalidates (RFC 9875)',
    schema: text,
    example: '"users"'
  },
  Vary: {
    description: 'The request headers that the response depends on (RFC 9110, section 12.5.5)',
    schema: text,
    example: 'Accept'
  },
  'Preference-Applied': {
    description: 'The preferences that the server followed (RFC 7240, section 3)',
    schema: text,
    example: 'return=minimal'
  },
  'Retry-After': {
    description: 'The number of seconds to wait before a retry (RFC 9110, section 10.2.3)',
    schema: seconds,
    example: 1
  },
  'WWW-Authenticate': {
    description: 'How to authenticate (RFC 9110, section 11.6.1)',
    schema: text,
    example: 'Bearer'
  },
  Accept: {
    description: 'The supported media types (RFC 9110, section 12.5.1)',
    schema: text,
    example: 'application/json'
  },
  'Accept-Patch': {
    description: 'The supported media types of patches (RFC 5789, section 3.1)',
    schema: text,
    example: 'application/merge-patch+json'
  },
  'Accept-Query': {
    description: 'The supported media types of queries (RFC 10008, section 3)',
    schema: text,
    example: 'application/json'
  },
  'Accept-Encoding': {
    description: 'The supported content codings (RFC 9110, section 12.5.3)',
    schema: text,
    example: 'gzip'
  }
} satisfies Record<string, Header>

export type ResponseHeader = keyof typeof responseHeaders

/** Describes the headers of a response, by name. */
export function describeHeaders (
  components: DescribedComponents,
  names: readonly ResponseHeader[]
): Record<string, Reference> {
  return Object.fromEntries(names.map((name) => (
    [name, components.reference('headers', toPascalCase(name), () => responseHeaders[name])]
  )))
}

export type RequestHeader =
  'If-Match' | 'If-None-Match' | 'If-Modified-Since' | 'If-Unmodified-Since' | 'Idempotency-Key' | 'Prefer'

/** Only headers that can be required have an example: tools such as Swagger UI send those of optional ones, too. */
const requestHeaders: Readonly<Record<RequestHeader, Header>> = {
  'If-Match': {
    description: 'Fails with 412 unless the item has one of these entity tags (RFC 9110, section 13.1.1)',
    schema: requestText,
    example: '*'
  },
  'If-None-Match': {
    description: 'Applies the request only if the item has none of these entity tags (RFC 9110, section 13.1.2)',
    schema: requestText
  },
  'If-Modified-Since': {
    description: 'Returns the item only if it has changed since this date (RFC 9110, section 13.1.3)',
    schema: date
  },
  'If-Unmodified-Since': {
    description: 'Fails with 412 if the item has changed since this date (RFC 9110, section 13.1.4)',
    schema: date
  },
  'Idempotency-Key': {
    description: 'A unique key of the request. Retries with the same key are executed only once',
    schema: requestText,
    example: '"8e03978e-40d5-43dd-bc93-6894a57f9324"'
  },
  Prefer: {
    description: 'Preferences: return=minimal, return=representation (RFC 7240)',
    schema: requestText
  }
}

/** Describes the headers of a request. A required header is a separate component. */
export function describeHeaderParameters (
  components: DescribedComponents,
  names: readonly RequestHeader[],
  required: readonly RequestHeader[]
): Reference[] {
  return names.map((name) => {
    const isRequired = required.includes(name)
    const component = toPascalCase(name) + (isRequired ? 'Required' : '')
    const { example, ...header } = requestHeaders[name]
    const parameter = { name, in: 'header', required: isRequired, ...header, ...isRequired && { example } }
    return components.reference('parameters', component, () => parameter)
  })
}
