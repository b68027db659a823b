import { connect } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

// HTTP/1.1 on the wire, without the changes that a client library makes.

export interface WireAnswer {
  readonly status: number
  /** Status line and header section, as they were sent. */
  readonly head: string
  readonly fields: Readonly<Record<string, string>>
  readonly content: Buffer
}

export async function listen (app: FastifyInstance): Promise<number> {
  await app.listen({ port: 0, host: '127.0.0.1' })
  return (app.server.address() as AddressInfo).port
}

/** In milliseconds. Only a response that never comes takes that long, however busy the machine is. */
const patience = 120_000

/** One connection; answers are read in the order of the requests. */
export class Wire {
  readonly socket: Socket
  #received = Buffer.alloc(0)
  #ended = false
  #wake: () => void = () => {}

  constructor (port: number) {
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.socket.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk])
      this.#wake()
    })
    const end = (): void => {
      this.#ended = true
      this.#wake()
    }
    this.socket.on('close', end).on('end', end).on('error', end)
  }

  get ended (): boolean {
    return this.#ended
  }

  /** What was received beyond the responses read so far. */
  get rest (): Buffer {
    return this.#received
  }

  write (head: string | readonly string[], content: string | Buffer = ''): void {
    const lines = [head].flat()
    this.socket.write([lines[0] + ' HTTP/1.1', 'Host: localhost', ...lines.slice(1), '', ''].join('\r\n'))
    if (content.length > 0) this.socket.write(content)
  }

  /** `head` is the request line without the version, and the headers. */
  async ask (head: string | readonly string[], content: string | Buffer = ''): Promise<WireAnswer> {
    const lines = [head].flat()
    this.write(content.length > 0 ? [...lines, `Content-Length: ${Buffer.byteLength(content)}`] : lines, content)
    return this.answer(lines[0]!.startsWith('HEAD '))
  }

  async answer (bare = false): Promise<WireAnswer> {
    const end = await this.#until(() => this.#received.indexOf('\r\n\r\n'))
    const head = this.#take(end + 4)
      .toString('latin1')
      .trimEnd()
    const [start = '', ...lines] = head.split('\r\n')
    const status = Number(start.split(' ')[1])
    const fields = Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()])
    )
    if (bare || status === 204 || status === 304 || status < 200) {
      return { status, head, fields, content: Buffer.alloc(0) }
    }
    if (fields['transfer-encoding'] === 'chunked') return { status, head, fields, content: await this.#readChunks() }
    const length = Number(fields['content-length'])
    await this.#until(() => (this.#received.length >= length ? 0 : -1))
    return { status, head, fields, content: this.#take(length) }
  }

  async #readChunks (): Promise<Buffer> {
    const chunks: Buffer[] = []
    for (;;) {
      const line = await this.#until(() => this.#received.indexOf('\r\n'))
      const size = parseInt(this.#take(line + 2).toString(), 16)
      await this.#until(() => (this.#received.length >= size + 2 ? 0 : -1))
      chunks.push(this.#take(size + 2).subarray(0, size))
      if (size === 0) return Buffer.concat(chunks)
    }
  }

  #take (length: number): Buffer {
    const part = this.#received.subarray(0, length)
    this.#received = this.#received.subarray(length)
    return part
  }

  async #until (found: () => number): Promise<number> {
    const deadline = Date.now() + patience
    for (;;) {
      const at = found()
      if (at >= 0) return at
      if (this.#ended || Date.now() > deadline) {
        throw new Error(
          `${this.#ended ? 'The connection ended' : 'Nothing more came'} after: ${this.#received.toString('latin1').slice(0, 200)}`
        )
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, patience)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }

  /** Resolves when the server has closed the connection. */
  async closed (): Promise<void> {
    if (!this.#ended) await new Promise((resolve) => this.socket.once('close', resolve))
  }

  close (): void {
    this.socket.destroy()
  }
}
