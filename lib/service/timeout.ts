import type { Server } from 'node:http'

/** Cuts requests that come in too slowly. What the app has set itself stays: Fastify sets 0 where it says nothing. */
export function limitTime (server: Server, milliseconds: number | false): void {
  if (milliseconds === false || server.requestTimeout !== 0) return
  server.requestTimeout = milliseconds
  server.headersTimeout = Math.min(server.headersTimeout, milliseconds)
  // Node.js looks every half a minute; until the server listens that can be changed, though its types do not say so.
  const interval: unknown = Reflect.get(server, 'connectionsCheckingInterval')
  Reflect.set(server, 'connectionsCheckingInterval', Math.min(Number(interval), Math.ceil(milliseconds / 10)))
}
