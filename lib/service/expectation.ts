import type { IncomingMessage, Server, ServerResponse } from 'node:http'

// RFC 9110 section 10.1.1: whoever waits for 100 (Continue) is told the final status instead, where the header section decides it.

const reading = new Set<string | symbol>(['data', 'readable'])

/** Where nobody else has seen to it already. */
export function expect (server: Server, fail: (exchange: [IncomingMessage, ServerResponse]) => void): void {
  if (server.listenerCount('checkContinue') === 0) {
    server.on('checkContinue', (request, response) => {
      // The content may come or not, so that nothing behind it could be read. A stream of HTTP/2 ends by itself.
      if (request.httpVersionMajor === 1) response.setHeader('connection', 'close')
      const wanted = (event: string | symbol): void => {
        if (!reading.has(event)) return
        request.off('newListener', wanted)
        // Who reads although the answer is on its way gets what comes.
        if (response.headersSent) return
        response.removeHeader('connection')
        response.writeContinue()
      }
      // Content is asked for by whoever begins to listen to it: Fastify does when all of its hooks of the header section have passed.
      request.on('newListener', wanted)
      server.emit('request', request, response)
    })
  }
  if (server.listenerCount('checkExpectation') === 0) server.on('checkExpectation', (request, response) => fail([request, response]))
}
