import type { IncomingHttpHeaders } from 'node:http'
import type { onRequestHookHandler } from 'fastify'
import type { Collection } from '../collection.ts'
import type { Format } from '../formats/format.ts'
import { negotiate } from '../http/accept.ts'
import { codings } from '../http/content-encoding.ts'
import { mediaType } from '../http/content-type.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import { pathOf } from './request.ts'

// What can be refused by the header section alone, before content is read.

/** RFC 9110 section 15.5.6. */
export function refuseMethod (allow: string): onRequestHookHandler {
  return function (request, _reply, done) {
    done(toError(problem('method-not-allowed', { detail: `${request.method} is not supported here. Supported: ${allow}.`, fields: { allow } })))
  }
}

/** Fastify's types want an Error, while it takes whatever is thrown. */
export function toError (problem: Problem): Error {
  return problem as unknown as Error
}

/** A wildcard matches what lies deeper than an item, too; that is the app's own. */
export function leaveDeeper (pattern: string): onRequestHookHandler {
  const depth = pathOf(pattern).split('/').length
  return function (request, reply, done) {
    if (pathOf(request.url).split('/').length > depth) reply.callNotFound()
    else done()
  }
}

export interface Taken {
  readonly types: readonly string[]
  /** The field that names them in an answer. */
  readonly field: 'accept' | 'accept-patch' | 'accept-query'
}

/** 406 and 415 by the header section: what content comes in, and in what format an answer could go out. */
export function admit (collection: Collection, taken: Taken): onRequestHookHandler {
  return function ({ headers }, _reply, done) {
    const refusal = refusalOfFormat(collection, headers) ?? refusalOfType(headers, taken) ?? refusalOfCoding(headers) ?? refusalOfRange(headers)
    if (refusal === undefined) done()
    else done(toError(refusal))
  }
}

function refusalOfFormat (collection: Collection, { accept }: IncomingHttpHeaders): Problem | undefined {
  return formatOf(collection, accept) === undefined ? notAcceptable(collection) : undefined
}

/** RFC 9110 section 15.5.16, RFC 5789 section 2.2: 415 names what is taken. */
function refusalOfType (fields: IncomingHttpHeaders, { types, field }: Taken): Problem | undefined {
  const type = fields['content-type']
  if (types.includes(mediaType(type) ?? '')) return undefined
  const { 'content-length': length, 'transfer-encoding': chunked } = fields
  const list = types.join(', ')
  // RFC 10008 section 2: without a media type there is no query.
  if (type === undefined && field === 'accept-query') return problem('malformed-content', { detail: `A query needs content and a Content-Type. Supported: ${list}.`, fields: { [field]: list } })
  if (type === undefined && chunked === undefined && (length === undefined || length === '0')) return undefined
  return problem('unsupported-media-type', { detail: `Supported media types: ${list}${type === undefined ? '. The request has no Content-Type' : ''}.`, fields: { [field]: list } })
}

/** Taken as well, though not advertised: RFC 9110 sections 8.4.1.3 and 12.5.3. */
const tolerated: readonly string[] = ['x-gzip', 'identity']

function refusalOfCoding ({ 'content-encoding': field }: IncomingHttpHeaders): Problem | undefined {
  const coding = field?.toLowerCase()
  if (coding === undefined || codings.includes(coding) || tolerated.includes(coding)) return undefined
  return problem('unsupported-content-coding', { detail: `Supported content codings: ${codings.join(', ')}.`, fields: { 'accept-encoding': codings.join(', ') } })
}

/** RFC 9110 section 14.5: a part of a representation must not pass for the whole. */
function refusalOfRange ({ 'content-range': range }: IncomingHttpHeaders): Problem | undefined {
  return range === undefined ? undefined : problem('malformed-content', { detail: 'Content-Range is not supported for writes. Send the complete representation, or a PATCH.' })
}

/** The format that the field Accept asks for; undefined where it can have none of ours. */
export function formatOf ({ formats, mediaTypes }: Collection, accept: string | undefined): Format | undefined {
  const type = negotiate(accept, mediaTypes)
  return type === undefined ? undefined : formats[mediaTypes.indexOf(type)]
}

/** RFC 9110 section 15.5.7: 406 lists what there is. */
export function notAcceptable ({ mediaTypes }: Collection): Problem {
  return problem('not-acceptable', { detail: `Available media types: ${mediaTypes.join(', ')}.`, members: { available: mediaTypes } })
}
