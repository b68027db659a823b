import type { IncomingMessage, RequestListener, Server } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'

// RFC 9110, section 10.1.1: a client that waits for 100 (Continue) gets the final status if the headers decide it.

const readEvents = new Set<string | symbol>(['data', 'readable'])

/** Handles the header Expect, unless the app has listeners for it. */
export function handleExpectations (server: Server, fail: RequestListener): void {
  if (server.listenerCount('checkContinue') === 0) server.on('checkContinue', continueOnRead(server))
  if (server.listenerCount('checkExpectation') === 0) server.on('checkExpectation', fail)
}

function continueOnRead (server: Server): RequestListener {
  return (request, response) => {
    // Without 100, it is unknown whether the content follows, so the connection cannot be used again.
    // A stream of HTTP/2 ends by itself.
    if (request.httpVersionMajor === 1) response.setHeader('connection', 'close')

    const onNewListener = (event: string | symbol): void => {
      if (!readEvents.has(event)) return
      request.off('newListener', onNewListener)
      // If the response has begun, the content is only discarded.
      if (response.headersSent || isStreamClosed(request)) return
      response.removeHeader('connection')
      response.writeContinue()
    }

    // Fastify begins to listen for content after its onRequest hooks have passed.
    request.on('newListener', onNewListener)
    server.emit('request', request, response)
  }
}

/** The client may have reset the stream. HTTP/2 then refuses to send 100, HTTP/1.1 ignores it. */
function isStreamClosed (request: IncomingMessage | Http2ServerRequest): boolean {
  return 'stream' in request && (request.stream.closed || request.stream.destroyed)
}
