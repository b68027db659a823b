import type { Server } from 'node:http'
import type { Http2Server, ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

// Node.js has no timeout for clients that do not read a response. The timeout of its sockets would also end requests
// that the app processes for a long time.

/** A connection of HTTP/1.1, or a stream of HTTP/2. */
interface Recipient {
  /** How many bytes wait for the client. */
  readonly writableLength: number
  /** Returns a number that changes when bytes have been sent. */
  getProgress (): number
  close (): void
}

/** What is known of the data that waits for a client. */
interface Waiting {
  readonly progress: number
  readonly since: number
}

/** The open connections of a server. */
export class Recipients {
  readonly #timeout: number
  readonly #waiting = new Map<Recipient, Waiting | undefined>()

  constructor (timeout: number) {
    this.#timeout = timeout
  }

  add (recipient: Recipient): void {
    this.#waiting.set(recipient, undefined)
  }

  delete (recipient: Recipient): void {
    this.#waiting.delete(recipient)
  }

  /**
   * Closes the connections on which data has waited for too long. `now` is in milliseconds. What an app writes at once
   * is sent as a whole, so a response that a collection has rendered counts once, and a stream each time it writes.
   */
  closeStalled (now: number): void {
    for (const [recipient, waiting] of this.#waiting) {
      const progress = recipient.getProgress()
      if (recipient.writableLength === 0) this.#waiting.set(recipient, undefined)
      else if (waiting?.progress !== progress) this.#waiting.set(recipient, { progress, since: now })
      else if (now - waiting.since >= this.#timeout) recipient.close()
    }
  }
}

function fromSocket (socket: Socket): Recipient {
  return {
    get writableLength () { return socket.writableLength },
    // `bytesWritten` includes the bytes that wait.
    getProgress: () => socket.bytesWritten - socket.writableLength,
    close: () => socket.destroy()
  }
}

/** RFC 9113, section 7: the stream is no longer needed. */
const cancel = 0x8

/** A client of HTTP/2 that does not read one response may read others on the same connection. */
export function fromStream (stream: ServerHttp2Stream): Recipient {
  let progress = 0
  let waiting = 0
  // What is written next may be as long as what was sent.
  stream.on('drain', () => { progress++ })
  return {
    get writableLength () { return stream.writableLength },
    getProgress () {
      if (stream.writableLength !== waiting) progress++
      waiting = stream.writableLength
      return progress
    },
    close: () => stream.close(cancel)
  }
}

/** Closes connections whose client does not read what was sent to it within this time. */
export function setResponseTimeout (app: FastifyInstance, milliseconds: number | false): void {
  if (milliseconds === false) return
  const server: Server | Http2Server = app.server
  const recipients = new Recipients(milliseconds)
  const addSocket = (socket: Socket): void => {
    const recipient = fromSocket(socket)
    recipients.add(recipient)
    socket.once('close', () => recipients.delete(recipient))
  }
  server.on('connection', addSocket)
  // With TLS, the data waits in another socket.
  server.on('secureConnection', addSocket)
  // With HTTP/2, it waits in the stream.
  server.on('stream', (stream: ServerHttp2Stream) => {
    const recipient = fromStream(stream)
    recipients.add(recipient)
    stream.once('close', () => recipients.delete(recipient))
  })
  const interval = setInterval(() => recipients.closeStalled(performance.now()), Math.ceil(milliseconds / 10))
  interval.unref()
  app.addHook('onClose', async () => clearInterval(interval))
}
