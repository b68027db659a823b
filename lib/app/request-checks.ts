import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest, HTTPMethods, onRequestHookHandler } from 'fastify'
import { buildAllow } from '../http/allow.ts'
import { isSameHost, isValidHost } from '../http/host.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import { hasUnknownTransferCoding } from '../http/transfer-encoding.ts'
import { send, sendProblem } from './reply.ts'

// Refuses what Fastify would route although it is no valid request of HTTP.

/** RFC 9112, section 3.2: exactly one Host, which is valid. Node.js uses the first of several. */
function checkHost ({ rawHeaders, httpVersionMinor, headers: { host } }: IncomingMessage): Problem | undefined {
  if (host === undefined) {
    return httpVersionMinor === 0 ? undefined : problem('bad-request', { detail: 'The header Host is missing.' })
  }
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  if (count > 1) return problem('bad-request', { detail: 'The header Host is repeated.' })
  if (!isValidHost(host)) {
    return problem('bad-request', { detail: 'The header Host must be a host name or an address, and may have a port.' })
  }
  return undefined
}

/** RFC 9113, section 8.3.1: Host must not name another host than `:authority`. Node.js refuses what is invalid. */
function checkAuthority ({ headers }: IncomingMessage): Problem | undefined {
  const { host, ':authority': authority, ':scheme': scheme } = headers as Record<string, string | undefined>
  if (host === undefined || authority === undefined || isSameHost(host, authority, scheme)) return undefined
  return problem('bad-request', { detail: 'The header Host differs from :authority.' })
}

/** RFC 9112, section 6.1: 501 for a coding that is not decoded, also if `chunked` follows. */
function checkTransferCoding ({ headers: { 'transfer-encoding': codings } }: IncomingMessage): Problem | undefined {
  if (codings === undefined || !hasUnknownTransferCoding(codings)) return undefined
  return problem('not-implemented', { detail: 'The only Transfer-Encoding of this server is chunked.' })
}

/** RFC 9110, sections 9.1 and 9.3.7: 501 for a method that the server does not know. */
function checkMethod ({ url, method = '' }: IncomingMessage, methods: readonly string[]): Problem | undefined {
  if (!methods.includes(method)) {
    return problem('not-implemented', { detail: `The method ${method} is not implemented by this server.` })
  }
  if (url !== '*') return undefined
  return problem('bad-request', { detail: 'Only OPTIONS can be sent to the whole server.' })
}

function checkRequest (request: IncomingMessage, methods: readonly string[]): Problem | undefined {
  // Only requests of HTTP/2 servers have a stream.
  const isHttp2 = 'stream' in request
  if (!isHttp2 && request.httpVersionMajor !== 1) return problem('http-version-not-supported')
  const refusal = isHttp2 ? checkAuthority(request) : checkHost(request) ?? checkTransferCoding(request)
  return refusal ?? checkMethod(request, methods)
}

/** Returns a hook for all requests. `base` is the URI that problem names are appended to. */
export function createRequestCheck (supported: readonly string[], base: string | undefined): onRequestHookHandler {
  const allow = buildAllow(supported as HTTPMethods[])
  return function checkRequestOfApp (request: FastifyRequest, reply: FastifyReply, done: () => void): void {
    const { raw } = request
    if (raw.url === '*' && raw.method === 'OPTIONS') {
      send({ status: 204, headers: { allow }, content: undefined }, reply)
      return
    }
    const refusal = checkRequest(raw, supported)
    if (refusal === undefined) {
      done()
      return
    }
    // What follows on the connection may not be a request: RFC 9112, section 11.2.
    if (raw.httpVersionMajor === 1) reply.header('connection', 'close')
    sendProblem(refusal, base, reply)
  }
}
