import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { toError } from './headers.ts'
import { getStatus } from '../../errors/failure.ts'
import { createDecoder } from '../../http/content-encoding.ts'
import { problem } from '../../http/problems.ts'

// Reads the content of requests. Fastify could, but needs a preParsing hook on every request to decode content codings.

type Done = (error: Error | null, content?: Buffer) => void

/** The request, or the stream that a plugin has put in its place. Fastify makes such a stream count encoded bytes. */
type Payload = Readable & { readonly receivedEncodedLength?: number }

type BodyReader = (request: FastifyRequest, payload: Payload, done: Done) => void

/** Creates a content type parser that reads and decodes the content (RFC 9110, section 8.4), up to `bodyLimit`. */
export function createBodyReader (app: FastifyInstance): BodyReader {
  // `request.routeOptions` is slow, so it is read only if the content exceeds the lowest limit of all routes.
  let lowestLimit = app.initialConfig.bodyLimit!
  app.addHook('onRoute', ({ bodyLimit = lowestLimit }) => {
    lowestLimit = Math.min(lowestLimit, bodyLimit)
  })

  function exceedsLimit (length: number, request: FastifyRequest): boolean {
    return length > lowestLimit && length > request.routeOptions.bodyLimit!
  }

  return function (request, payload, done) {
    const contentLength = Number(request.headers['content-length'])
    if (exceedsLimit(contentLength, request)) {
      done(tooLarge(request))
      return
    }
    const content = decode(request, payload)
    let chunks: Buffer[] | undefined
    let length = 0
    let ended = false

    const onData = (chunk: Buffer | string): void => {
      // A stream of a plugin may emit strings.
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      length += bytes.length
      if (chunks === undefined) chunks = [bytes]
      else chunks.push(bytes)
      if (!exceedsLimit(Math.max(length, content.receivedEncodedLength ?? 0), request)) return
      content.off('data', onData)
      ended = true
      done(tooLarge(request))
      // Stops decoding, but reads the rest of the request.
      if (content !== payload) content.destroy()
      payload.resume()
    }

    content.on('data', onData)
    content.on('end', () => {
      // Faster than leaving it to Node.js.
      content.off('data', onData)
      if (ended) return
      ended = true
      // The content of an HTTP/2 stream that the client has reset also ends, but is not complete.
      if (request.raw.aborted) {
        done(malformed('The client has aborted the request.'))
      } else if (!Number.isNaN(contentLength) && (content.receivedEncodedLength || length) !== contentLength) {
        done(malformed('The length of the content differs from Content-Length.'))
      } else {
        done(null, chunks?.length === 1 ? chunks[0] : Buffer.concat(chunks ?? [], length))
      }
    })
    content.on('error', (error) => {
      if (!ended) done(getStatus(error) === undefined ? malformed(error.message) : error)
      ended = true
    })
    // A plugin may have paused its stream.
    content.resume()
  }
}

function tooLarge ({ routeOptions: { bodyLimit } }: FastifyRequest): Error {
  const detail = `The content can have up to ${bodyLimit} bytes after decoding.`
  return toError(problem('content-too-large', { detail }))
}

function malformed (detail: string): Error {
  return toError(problem('malformed-content', { detail }))
}

/** Decodes the content, unless a plugin of the app has done so: then the payload is not the request itself. */
function decode (request: FastifyRequest, payload: Payload): Payload {
  const coding = request.headers['content-encoding']
  const transform = coding === undefined || payload !== request.raw ? undefined : createDecoder(coding)
  if (transform === undefined) return payload
  // pipe() does not forward errors, such as a client that disconnects.
  payload.on('error', (error) => transform.destroy(error))
  return payload.pipe(transform)
}
