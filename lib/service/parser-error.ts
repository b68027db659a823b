import type { Server, ServerResponse } from 'node:http'
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { formatDate } from '../http/date.ts'
import { problem, problemContent } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'

// What the parser of Node.js could not read: there is no request yet, and nothing of Fastify is asked.

interface ParserError extends Error {
  readonly code?: string
  /** What came last. */
  readonly rawPacket?: Buffer
  /** How far it was read. */
  readonly bytesParsed?: number
}

const nothing = Buffer.alloc(0)

/** RFC 9110 section 15.5.15, where no more than the request line has come. */
function problemOfSize (error: ParserError): Problem {
  return /^[A-Z-]+ \S*$/.test(lineOf(error).read) ? problem('uri-too-long') : problem('headers-too-large')
}

const requestLine = /^[!#$%&'*+.^`|~\w-]+ \S+ HTTP\/\d\.\d\r?$/

/** RFC 9110 section 9.1: a method that is not known, in a request line that is one. */
function problemOfMethod (error: ParserError): Problem {
  return requestLine.test(lineOf(error).whole) ? problem('not-implemented') : problem('bad-request')
}

/** RFC 9112 section 6.1: one that is not known; beside a Content-Length it is an attempt at something else. */
function problemOfCoding ({ rawPacket = nothing }: ParserError): Problem {
  return /^content-length:/im.test(rawPacket.toString('latin1')) ? problem('bad-request') : problem('not-implemented')
}

const problems: Readonly<Record<string, (error: ParserError) => Problem>> = {
  ERR_HTTP_REQUEST_TIMEOUT: () => problem('request-timeout'),
  HPE_HEADER_OVERFLOW: problemOfSize,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: () => problem('content-too-large'),
  HPE_INVALID_METHOD: problemOfMethod,
  HPE_INVALID_TRANSFER_ENCODING: problemOfCoding,
  HPE_INVALID_VERSION: () => problem('http-version-not-supported')
}

/** The line in which the parser stopped, as much of it as came last: what was read of it, and the whole. */
function lineOf ({ rawPacket = nothing, bytesParsed = 0 }: ParserError): { read: string, whole: string } {
  const text = rawPacket.toString('latin1')
  const start = text.lastIndexOf('\n', Math.max(0, bytesParsed - 1)) + 1
  return { read: text.slice(start, bytesParsed), whole: text.slice(start).split('\n', 1)[0]! }
}

export function problemOfParserError (error: ParserError): Problem {
  return problems[error.code ?? '']?.(error) ?? problem('bad-request')
}

/** By connection, the answer that was begun last. */
export type Answers = WeakMap<Duplex, ServerResponse>

/** The name that the listener of Fastify has where the app brings none of its own. */
const ownListener = 'bound defaultClientErrorHandler'

export function tellParserErrors (server: Server, answers: Answers, base: string | undefined): void {
  const present = server.listeners('clientError')
  if (present.some(({ name }) => name !== ownListener)) return
  server.removeAllListeners('clientError')
  server.on('clientError', (error: ParserError, socket) => {
    if (error.code === 'ECONNRESET' || socket.destroyed) return
    const answer = answers.get(socket)
    const running = answer !== undefined && !answer.writableFinished
    // What comes after a request that is answered yet has to wait, or it would pass for its answer.
    if (running && answer.req.complete) answer.once('close', () => end(socket, problemOfParserError(error), base))
    else if (running && answer.headersSent) socket.destroy(error)
    else end(socket, problemOfParserError(error), base)
  })
}

function end (socket: Duplex, problem: Problem, base: string | undefined): void {
  const content = problemContent(problem, base, undefined)
  const head = [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    `Date: ${formatDate(new Date())}`,
    'Connection: close',
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    'Content-Type: application/problem+json',
    `Content-Length: ${Buffer.byteLength(content)}`
  ]
  // Whatever else comes is not read.
  if (socket.writable) socket.end(`${head.join('\r\n')}\r\n\r\n${content}`, () => socket.destroy())
  else socket.destroy()
}
