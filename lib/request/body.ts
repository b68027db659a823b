import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { toError } from './headers.ts'
import { statusOf } from '../failure.ts'
import { decoder } from '../http/content-encoding.ts'
import { problem } from '../http/problems.ts'

// How the content of a request is read. Fastify would do so too, but asks for a hook at every request where one might have a coding.

/** What it is given at last: an error, which may be a problem, or the content. */
type Done = (error: Error | null, content?: Buffer) => void

/** Content, or what a plugin of the app has made of it: Fastify asks a stream that decodes to count what came in. */
type Payload = Readable & { readonly receivedEncodedLength?: number }

type Intake = (request: FastifyRequest, payload: Payload, done: Done) => void

/** Reads content: whole, decoded (RFC 9110 section 8.4), and not more of it than the `bodyLimit` of its route. */
export function intake (app: FastifyInstance): Intake {
  // It takes Fastify a while to tell the limit of one route, so that it is asked only for what is beyond the least of them.
  let least = app.initialConfig.bodyLimit!
  app.addHook('onRoute', ({ bodyLimit = least }) => { least = Math.min(least, bodyLimit) })
  const exceeds = (length: number, request: FastifyRequest): boolean => length > least && length > request.routeOptions.bodyLimit!

  return function (request, payload, done) {
    const stated = Number(request.headers['content-length'])
    if (exceeds(stated, request)) {
      done(tooLarge(request))
      return
    }
    const content = decoded(request, payload)
    let chunks: Buffer[] | undefined
    let length = 0
    let ended = false
    const take = (chunk: Buffer | string): void => {
      // A stream that a plugin of the app has put there may give text.
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      length += bytes.length
      if (chunks === undefined) chunks = [bytes]
      else chunks.push(bytes)
      if (!exceeds(Math.max(length, content.receivedEncodedLength ?? 0), request)) return
      content.off('data', take)
      ended = true
      done(tooLarge(request))
      // The rest of a bomb is read, but not inflated.
      if (content !== payload) content.destroy()
      payload.resume()
    }
    content.on('data', take)
    content.on('end', () => {
      // Node would do so later, and takes longer for it.
      content.off('data', take)
      if (ended) return
      ended = true
      if (!Number.isNaN(stated) && (content.receivedEncodedLength || length) !== stated) done(malformed('The content is not as long as Content-Length says.'))
      else done(null, chunks?.length === 1 ? chunks[0] : Buffer.concat(chunks ?? [], length))
    })
    content.on('error', error => {
      if (!ended) done(statusOf(error) === undefined ? malformed(error.message) : error)
      ended = true
    })
    // What a plugin has put there may have been paused.
    content.resume()
  }
}

function tooLarge ({ routeOptions: { bodyLimit } }: FastifyRequest): Error {
  return toError(problem('content-too-large', { detail: `The content can have up to ${bodyLimit} bytes after decoding.` }))
}

function malformed (detail: string): Error {
  return toError(problem('malformed-content', { detail }))
}

/** What is not the request itself was decoded by a plugin of the app already. */
function decoded (request: FastifyRequest, payload: Payload): Payload {
  const coding = request.headers['content-encoding']
  const transform = coding === undefined || payload !== request.raw ? undefined : decoder(coding)
  if (transform === undefined) return payload
  // A client that goes in the middle ends the pipe, but not what it leads to.
  payload.on('error', error => transform.destroy(error))
  return payload.pipe(transform)
}
