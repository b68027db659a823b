import { createServer, request } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

// A proxy as bad as a network can be: it loses requests and responses, and repeats requests.

export interface UnreliableProxy {
  readonly url: string
  /** How often each mishap has happened. */
  readonly counts: Record<Mishap, number>
  close (): Promise<void>
}

const mishaps = ['loses the request', 'loses the response', 'repeats the request', 'cuts the connection'] as const

type Mishap = typeof mishaps[number]

/** About every fourth request has one. */
function pickMishap (): Mishap | undefined {
  return Math.random() < 0.25 ? mishaps[Math.floor(Math.random() * mishaps.length)] : undefined
}

/** Starts a proxy. `choose` returns the server for a request, and `pick` what happens to it. */
export async function startProxy (choose: () => string, pick = pickMishap): Promise<UnreliableProxy> {
  const counts = Object.fromEntries(mishaps.map((mishap) => [mishap, 0])) as Record<Mishap, number>
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => { chunks.push(chunk) })
    incoming.on('error', () => {})
    incoming.on('end', () => {
      handle(incoming, outgoing, Buffer.concat(chunks)).catch(() => outgoing.destroy())
    })
  })

  async function handle (incoming: IncomingMessage, outgoing: ServerResponse, content: Buffer): Promise<void> {
    const mishap = pick()
    if (mishap !== undefined) counts[mishap]++
    if (mishap === 'loses the request') {
      outgoing.destroy()
      return
    }
    if (mishap === 'cuts the connection') {
      forward(incoming, content, { endsEarly: true }).catch(() => {})
      outgoing.destroy()
      return
    }
    // At the same time, to the same or another server.
    const times = mishap === 'repeats the request' ? 2 : 1
    const answers = Array.from({ length: times }, () => forward(incoming, content).catch(() => undefined))
    const answer = (await Promise.all(answers)).find((one) => one !== undefined)
    if (mishap === 'loses the response' || answer === undefined) {
      outgoing.destroy()
      return
    }
    outgoing.writeHead(answer.status, answer.headers).end(answer.content)
  }

  interface Answer {
    readonly status: number
    readonly headers: IncomingMessage['headers']
    readonly content: Buffer
  }

  function forward (incoming: IncomingMessage, content: Buffer, { endsEarly = false } = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const { method, headers, url } = incoming
      const sent = request(new URL(url!, choose()), { method, headers, agent: false }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => { chunks.push(chunk) })
        response.on('error', reject)
        response.on('end', () => {
          resolve({ status: response.statusCode!, headers: response.headers, content: Buffer.concat(chunks) })
        })
      })
      sent.on('error', reject)
      sent.end(content)
      // The server has the request, and its client is gone while it works.
      if (endsEarly) setTimeout(() => sent.destroy(), 1 + Math.random() * 10)
    })
  }

  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve) })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts,
    close: () => new Promise((resolve) => {
      server.closeAllConnections()
      server.close(() => resolve())
    })
  }
}
