import type { IncomingHttpHeaders } from 'node:http'
import type { onRequestHookHandler } from 'fastify'
import { getState } from './request-state.ts'
import type { HttpOptions } from '../../engine/collection.ts'
import type { Format } from '../../formats/format.ts'
import { negotiate } from '../../http/accept.ts'
import { codings } from '../../http/content-encoding.ts'
import { parseMediaType } from '../../http/content-type.ts'
import { isAllowedByCors, isCrossOrigin, needsPreflight } from '../../http/cross-origin.ts'
import { parseEntityTags } from '../../http/entity-tag.ts'
import { hasTagPrecondition } from '../../http/preconditions.ts'
import { problem } from '../../http/problems.ts'
import type { Problem } from '../../http/problems.ts'
import { normalizePath } from './request.ts'

// Rejects requests by their headers, before the content is read.

/** RFC 9110, section 15.5.6. */
export function refuseMethod (allow: string): onRequestHookHandler {
  return function (request, _reply, done) {
    const detail = `${request.method} is not supported here. Supported: ${allow}.`
    done(toError(problem('method-not-allowed', { detail, headers: { allow } })))
  }
}

/** Fastify accepts any thrown value, but its types require an Error. */
export function toError (problem: Problem): Error {
  return problem as unknown as Error
}

/** A wildcard route also matches paths below an item. Those belong to the app. */
export function skipDeeperPaths (pattern: string): onRequestHookHandler {
  const depth = normalizePath(pattern).split('/').length
  return function (request, reply, done) {
    if (normalizePath(request.url).split('/').length > depth) reply.callNotFound()
    else done()
  }
}

/** Creates a hook that refuses requests that a page of another origin could forge. */
export function refuseCrossOrigin (trustedOrigins: readonly string[]): onRequestHookHandler {
  return function (request, reply, done) {
    const { headers } = request
    const isForged = !needsPreflight(headers) &&
      isCrossOrigin(headers, request.host) &&
      !trustedOrigins.includes(headers.origin ?? '') &&
      // What @fastify/cors has set.
      !isAllowedByCors(headers, {
        allowOrigin: reply.getHeader('access-control-allow-origin'),
        allowCredentials: reply.getHeader('access-control-allow-credentials')
      })
    if (isForged) done(toError(problem('cross-origin')))
    else done()
  }
}

/**
 * A list has no state that a POST to it could depend on: each item has its own. That it exists needs no state:
 * RFC 9110, section 13.1.2.
 */
export const refuseListPreconditions: onRequestHookHandler = ({ headers }, _reply, done) => {
  if (!hasTagPrecondition(headers)) done()
  else if (headers['if-match'] === undefined && parseEntityTags(headers['if-none-match']!) === '*') {
    done(toError(problem('precondition-failed', {
      detail: 'The list exists, so If-None-Match: * fails on every POST to it. Repeat the request without it.'
    })))
  } else {
    done(toError(problem('bad-request', {
      detail: 'If-Match and If-None-Match are not supported on POST to a list. Repeat the request without them; ' +
        'with an Idempotency-Key, if it must not be done twice.'
    })))
  }
}

/** Each of several items has its own state. */
export const refuseBulkPreconditions: onRequestHookHandler = ({ method, headers }, _reply, done) => {
  if (!hasTagPrecondition(headers) && headers['if-unmodified-since'] === undefined) done()
  else {
    done(toError(problem('bad-request', {
      detail: `If-Match, If-None-Match and If-Unmodified-Since are not supported on ${method} of a list. ` +
        'Repeat the request without them, or write to the items one by one.'
    })))
  }
}

/** The part of a collection that decides about formats. */
type Negotiable = Pick<HttpOptions, 'formats' | 'mediaTypes'>

/** The content that an action accepts. */
export interface AcceptedContent {
  readonly types: readonly string[]
  /** The response header that lists the types. */
  readonly field: 'accept' | 'accept-patch' | 'accept-query'
}

/** Creates a hook that responds with 406 or 415 if the headers do not match what the action sends and accepts. */
export function checkHeaders (negotiable: Negotiable, accepted: AcceptedContent): onRequestHookHandler {
  return function (request, _reply, done) {
    const { headers } = request
    const state = getState(request)
    state.format = negotiateFormat(negotiable, headers.accept)
    state.mediaType = parseMediaType(headers['content-type'])
    const refusal = (state.format === undefined ? notAcceptable(negotiable) : undefined) ??
      checkContentType(headers, state.mediaType, accepted) ??
      checkContentEncoding(headers) ??
      checkContentRange(headers)
    if (refusal === undefined) done()
    else done(toError(refusal))
  }
}

/** RFC 9110, section 15.5.16, and RFC 5789, section 2.2: 415 lists the supported types. */
function checkContentType (
  headers: IncomingHttpHeaders,
  mediaType: string | undefined,
  { types, field }: AcceptedContent
): Problem | undefined {
  if (types.includes(mediaType ?? '')) return undefined
  const type = headers['content-type']
  const { 'content-length': length, 'transfer-encoding': transferEncoding } = headers
  const supported = types.join(', ')
  // RFC 10008, section 2: a QUERY without a media type is an error.
  if (type === undefined && field === 'accept-query') {
    return problem('malformed-content', {
      detail: `A query needs content and a Content-Type. Supported: ${supported}.`,
      headers: { [field]: supported }
    })
  }
  const isEmpty = transferEncoding === undefined && (length === undefined || length === '0')
  if (type === undefined && isEmpty) return undefined
  return problem('unsupported-media-type', {
    detail: `Supported media types: ${supported}${type === undefined ? '. The request has no Content-Type' : ''}.`,
    headers: { [field]: supported }
  })
}

/** Accepted, but not advertised: RFC 9110, sections 8.4.1.3 and 12.5.3. */
const otherCodings: readonly string[] = ['x-gzip', 'identity']

function checkContentEncoding ({ 'content-encoding': field }: IncomingHttpHeaders): Problem | undefined {
  const coding = field?.toLowerCase()
  if (coding === undefined || codings.includes(coding) || otherCodings.includes(coding)) return undefined
  const supported = codings.join(', ')
  return problem('unsupported-content-coding', {
    detail: `Supported content codings: ${supported}.`,
    headers: { 'accept-encoding': supported }
  })
}

/** RFC 9110, section 14.5: a partial PUT must not be stored as a complete one. */
function checkContentRange ({ 'content-range': range }: IncomingHttpHeaders): Problem | undefined {
  if (range === undefined) return undefined
  return problem('malformed-content', {
    detail: 'Content-Range is not supported for writes. Send the complete representation, or a PATCH.'
  })
}

/** Returns the format that the client prefers; undefined if it accepts none of the collection. */
export function negotiateFormat ({ formats, mediaTypes }: Negotiable, accept: string | undefined): Format | undefined {
  const type = negotiate(accept, mediaTypes)
  return type === undefined ? undefined : formats[mediaTypes.indexOf(type)]
}

/** RFC 9110, section 15.5.7: 406 lists what is available. */
export function notAcceptable ({ mediaTypes }: Negotiable): Problem {
  return problem('not-acceptable', {
    detail: `Available media types: ${mediaTypes.join(', ')}.`,
    properties: { available: mediaTypes }
  })
}
