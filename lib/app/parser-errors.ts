import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { formatDate } from '../http/date.ts'
import { problem, formatProblem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import { getServiceInfo } from '../engine/registry.ts'

// Responds to what the HTTP parser of Node.js rejects. There is no request, so Fastify is not involved.

interface ParserError extends Error {
  readonly code?: string
  /** The bytes that were received last. */
  readonly rawPacket?: Buffer
  /** How many of them were parsed. */
  readonly bytesParsed?: number
}

const noBytes = Buffer.alloc(0)

/** RFC 9110, section 15.5.15: 414 if only the request line was received. */
function toSizeProblem (error: ParserError): Problem {
  return /^[A-Z-]+ \S*$/.test(getLine(error).parsed) ? problem('uri-too-long') : problem('headers-too-large')
}

const requestLine = /^[!#$%&'*+.^`|~\w-]+ \S+ HTTP\/\d\.\d\r?$/

/** RFC 9110, section 9.1: 501 for an unknown method in a valid request line. */
function toMethodProblem (error: ParserError): Problem {
  return requestLine.test(getLine(error).whole) ? problem('not-implemented') : problem('bad-request')
}

/** RFC 9112, section 6.1: 501 for an unknown coding. Together with Content-Length it may be request smuggling. */
function toTransferCodingProblem ({ rawPacket = noBytes }: ParserError): Problem {
  const hasLength = /^content-length:/im.test(rawPacket.toString('latin1'))
  return hasLength ? problem('bad-request') : problem('not-implemented')
}

/** The end of a request line, which may have arrived in parts. */
const versionInLine = /(?:^|HTTP\/)(?<major>\d)\.\d\r$/

/**
 * RFC 9110, section 15.6.6: 505 is about the major version. The parser of Node.js rejects HTTP/1.2 as well, and a
 * version without CRLF after it: those are 400.
 */
function toVersionProblem (error: ParserError): Problem {
  const major = versionInLine.exec(getLine(error).whole)?.groups?.major
  if (major === '1') return problem('bad-request', { detail: 'The version has to be HTTP/1.1 or HTTP/1.0.' })
  return major === undefined ? problem('bad-request') : problem('http-version-not-supported')
}

const problemsByCode: Readonly<Record<string, (error: ParserError) => Problem>> = {
  ERR_HTTP_REQUEST_TIMEOUT: () => problem('request-timeout'),
  HPE_HEADER_OVERFLOW: toSizeProblem,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: () => problem('content-too-large'),
  HPE_INVALID_METHOD: toMethodProblem,
  HPE_INVALID_TRANSFER_ENCODING: toTransferCodingProblem,
  HPE_INVALID_VERSION: toVersionProblem,
  // The preface of HTTP/2: RFC 9113, section 3.4.
  HPE_PAUSED_H2_UPGRADE: () => problem('http-version-not-supported')
}

/** Returns the line in which the parser stopped: the part that was parsed, and the whole, as far as it was received. */
function getLine ({ rawPacket = noBytes, bytesParsed = 0 }: ParserError): { parsed: string, whole: string } {
  const text = rawPacket.toString('latin1')
  const start = text.lastIndexOf('\n', Math.max(0, bytesParsed - 1)) + 1
  return { parsed: text.slice(start, bytesParsed), whole: text.slice(start).split('\n', 1)[0]! }
}

function toParserProblem (error: ParserError): Problem {
  return problemsByCode[error.code ?? '']?.(error) ?? problem('bad-request')
}

// The last response that was begun, by connection.
const lastResponses = new WeakMap<Duplex, ServerResponse>()

/** Records which response was begun last on each connection, before Fastify handles the request. */
export function recordResponses (server: Server): void {
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    lastResponses.set(request.socket, response)
  })
}

/** The option `clientErrorHandler` of Fastify, which calls it as a method of the app. */
export function handleParserError (this: FastifyInstance, error: ParserError, socket: Duplex): void {
  if (socket.destroyed) return
  const previous = lastResponses.get(socket)
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
  } else if (previous?.headersSent === true && !previous.req.complete) {
    // The error is in the content of a request that is already answered.
    if (previous.writableFinished) socket.end(() => socket.destroy())
    else socket.destroy(error)
  } else {
    const end = () => endWithProblem(socket, toParserProblem(error), getServiceInfo(this).problems)
    // In a pipeline, the response to the previous request comes first.
    const isPending = previous !== undefined && !previous.writableFinished && previous.req.complete
    if (isPending) previous.once('close', end)
    else end()
  }
}

function endWithProblem (socket: Duplex, problem: Problem, base: string | undefined): void {
  const content = formatProblem(problem, base, undefined)
  const head = [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    `Date: ${formatDate(new Date())}`,
    'Connection: close',
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    'Content-Type: application/problem+json',
    `Content-Length: ${Buffer.byteLength(content)}`
  ]
  // The rest of what the client sends is not read.
  if (socket.writable) socket.end(`${head.join('\r\n')}\r\n\r\n${content}`, () => socket.destroy())
  else socket.destroy()
}
