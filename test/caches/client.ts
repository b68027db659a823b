import { Agent, request } from 'node:http'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'

export interface Sent {
  readonly fields?: Readonly<Record<string, string>>
  readonly content?: string | Buffer
}

export interface Received {
  readonly status: number
  /** Lines of one name are joined. */
  readonly fields: Readonly<Record<string, string>>
  readonly content: string
}

/** A client that adds nothing of its own, neither Accept nor Accept-Encoding, and undoes nothing. */
export class Client {
  readonly #agent = new Agent({ keepAlive: true })
  readonly port: number

  constructor (port: number) {
    this.port = port
  }

  async ask (line: string, { fields = {}, content }: Sent = {}): Promise<Received> {
    const [method, path] = line.split(' ') as [string, string]
    const length = content === undefined ? {} : { 'content-length': Buffer.byteLength(content) }
    const outgoing = request({
      agent: this.#agent,
      host: '127.0.0.1',
      port: this.port,
      method,
      path,
      headers: { host: 'localhost', ...length, ...fields },
      timeout: 10_000
    })
    outgoing.on('timeout', () => outgoing.destroy(new Error(`No answer to ${line}`)))
    outgoing.end(content)
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
    const chunks = (await incoming.toArray()) as Buffer[]
    return {
      status: incoming.statusCode ?? 0,
      fields: Object.fromEntries(
        Object.entries(incoming.headersDistinct).map(([name, lines = []]) => [name, lines.join(', ')])
      ),
      content: Buffer.concat(chunks).toString('latin1')
    }
  }

  close (): void {
    this.#agent.destroy()
  }
}
