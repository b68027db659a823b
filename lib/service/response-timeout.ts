import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

// Node.js has no timeout for clients that do not read a response. The timeout of its sockets would also end requests
// that the app processes for a long time.

/** What is known of the data that waits for a client. */
interface Waiting {
  /** How many bytes had been passed to the operating system. */
  readonly sent: number
  readonly since: number
}

type Connection = Pick<Socket, 'bytesWritten' | 'writableLength' | 'destroy'>

/** The open connections of a server. */
export class Connections {
  readonly #timeout: number
  readonly #waiting = new Map<Connection, Waiting | undefined>()

  constructor (timeout: number) {
    this.#timeout = timeout
  }

  add (connection: Connection): void {
    this.#waiting.set(connection, undefined)
  }

  delete (connection: Connection): void {
    this.#waiting.delete(connection)
  }

  /**
   * Closes the connections on which data has waited for too long. `now` is in milliseconds. What an app writes at once
   * is sent as a whole, so a response that a collection has rendered counts once, and a stream each time it writes.
   */
  closeStalled (now: number): void {
    for (const [connection, waiting] of this.#waiting) {
      const { writableLength, bytesWritten } = connection
      // `bytesWritten` includes the bytes that wait.
      const sent = bytesWritten - writableLength
      if (writableLength === 0) this.#waiting.set(connection, undefined)
      else if (waiting?.sent !== sent) this.#waiting.set(connection, { sent, since: now })
      else if (now - waiting.since >= this.#timeout) connection.destroy()
    }
  }
}

/** Closes connections whose client does not read what was sent to it within this time. */
export function setResponseTimeout (app: FastifyInstance, milliseconds: number | false): void {
  if (milliseconds === false) return
  const server: Server = app.server
  const connections = new Connections(milliseconds)
  const add = (socket: Socket): void => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  }
  server.on('connection', add)
  // With TLS, the data waits in another socket.
  server.on('secureConnection', add)
  const interval = setInterval(() => connections.closeStalled(performance.now()), Math.ceil(milliseconds / 10))
  interval.unref()
  app.addHook('onClose', async () => clearInterval(interval))
}
