import type { Server } from 'node:http'

/** Sets a timeout for receiving requests, unless the app has set one. Fastify sets 0 by default. */
export function setRequestTimeout (server: Server, milliseconds: number | false): void {
  if (milliseconds === false || server.requestTimeout !== 0) return
  server.requestTimeout = milliseconds
  server.headersTimeout = Math.min(server.headersTimeout, milliseconds)
  // Node.js checks every 30 seconds. The interval can be changed until the server listens, but has no types.
  const interval: unknown = Reflect.get(server, 'connectionsCheckingInterval')
  Reflect.set(server, 'connectionsCheckingInterval', Math.min(Number(interval), Math.ceil(milliseconds / 10)))
}
