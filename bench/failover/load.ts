// Clients that create and change orders with an Idempotency-Key, and read them, as long as a run lasts.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Order } from './orders.ts'

/** A write of a client, which is repeated with the same key until it succeeds. */
interface Operation {
  readonly kind: 'POST' | 'PATCH'
  readonly number: string
  isAcknowledged: boolean
}

/** When a request was sent, and when its successful response was received. */
interface Success {
  readonly kind: 'read' | 'write'
  readonly app: string
  readonly sent: number
  readonly received: number
}

const writers = 12
const readers = 4

/** How many orders are changed again and again. */
const changed = 40

/** Milliseconds that a client waits for a response. */
const patience = 10_000

export class Load {
  readonly #apps: readonly string[]
  readonly #operations: Operation[] = []
  readonly #successes: Success[] = []
  /** By method, how often each status was received. */
  readonly #statuses = new Map<string, Map<string, number>>()
  readonly #paths: string[] = []
  #requests = 0
  #isEnding = false
  #clients: Array<Promise<void>> = []

  constructor (apps: readonly string[]) {
    this.#apps = apps
  }

  async start (): Promise<void> {
    for (let count = 0; count < changed; count++) await this.#create()
    this.#successes.length = 0
    this.#clients = Array.from({ length: writers }, (_, index) => {
      return this.#repeat(() => index % 2 === 0 ? this.#create() : this.#change())
    })
    this.#clients.push(...Array.from({ length: readers }, () => this.#repeat(() => this.#read())))
  }

  /** Whether a write that was sent after a time has succeeded, through each process of the app. */
  hasRecovered (since: number): boolean {
    const apps = this.#successes.filter(({ kind, sent }) => kind === 'write' && sent > since).map(({ app }) => app)
    return new Set(apps).size === this.#apps.length
  }

  /** Begins nothing new, and waits until every write has succeeded. */
  async end (): Promise<void> {
    this.#isEnding = true
    await Promise.race([Promise.all(this.#clients), delay(60_000, undefined, { ref: false })])
  }

  async #repeat (run: () => Promise<void>): Promise<void> {
    while (!this.#isEnding) await run()
  }

  async #create (): Promise<void> {
    const operation = this.#begin('POST')
    const content = JSON.stringify({ number: operation.number })
    const response = await this.#insist(operation, '/orders', { 'content-type': 'application/json' }, content)
    const path = response.headers.get('location')
    if (path !== null && this.#paths.length < changed) this.#paths.push(path)
  }

  async #change (): Promise<void> {
    const operation = this.#begin('PATCH')
    const content = JSON.stringify([{ op: 'add', path: '/changes/-', value: operation.number }])
    await this.#insist(operation, this.#choosePath(), { 'content-type': 'application/json-patch+json' }, content)
  }

  async #read (): Promise<void> {
    const response = await this.#send('GET', this.#choosePath())
    // A client that got no order tries again; the others are not in a hurry.
    await delay(response?.status === 200 ? 20 : 200)
  }

  #choosePath (): string {
    return this.#paths[Math.floor(Math.random() * this.#paths.length)]!
  }

  #begin (kind: Operation['kind']): Operation {
    const operation = { kind, number: randomUUID(), isAcknowledged: false }
    this.#operations.push(operation)
    return operation
  }

  /** As docs/retries.md tells clients, but with a shorter delay, which shows sooner when the app responds again. */
  async #insist (operation: Operation, path: string, headers: Record<string, string>, body: string): Promise<Response> {
    const init = { headers: { ...headers, 'idempotency-key': `"${operation.number}"` }, body }
    for (;;) {
      const response = await this.#send(operation.kind, path, init)
      if (response?.ok === true) {
        operation.isAcknowledged = true
        return response
      }
      await delay(100 + Math.random() * 200)
    }
  }

  /** Each request goes to the next process of the app. Returns undefined if there is no response. */
  async #send (method: string, path: string, init: RequestInit = {}): Promise<Response | undefined> {
    const app = this.#apps[this.#requests++ % this.#apps.length]!
    const sent = Date.now()
    try {
      const response = await fetch(app + path, { ...init, method, signal: AbortSignal.timeout(patience) })
      const content = await response.text()
      const code = response.ok ? '' : ` ${(JSON.parse(content) as { code?: string }).code ?? ''}`
      this.#count(method, `${response.status}${code}`)
      if (response.ok) {
        this.#successes.push({ kind: method === 'GET' ? 'read' : 'write', app, sent, received: Date.now() })
      }
      return response
    } catch {
      this.#count(method, 'no response')
      return undefined
    }
  }

  #count (method: string, status: string): void {
    const counts = this.#statuses.get(method) ?? new Map<string, number>()
    this.#statuses.set(method, counts.set(status, (counts.get(status) ?? 0) + 1))
  }

  /** Compares what was acknowledged with what the database has. `fault` is when the fault began. */
  evaluate (orders: readonly Order[], fault: number): Counts {
    const stored = new Map<string, number>()
    for (const { number, changes } of orders) {
      for (const entry of [number, ...changes]) stored.set(entry, (stored.get(entry) ?? 0) + 1)
    }
    const acknowledged = this.#operations.filter(({ isAcknowledged }) => isAcknowledged)
    return {
      acknowledged: acknowledged.length,
      missing: acknowledged.filter(({ number }) => !stored.has(number)).length,
      doubled: this.#operations.filter(({ number }) => (stored.get(number) ?? 0) > 1).length,
      unanswered: this.#operations.length - acknowledged.length,
      firstWrite: this.#findFirst('write', fault),
      firstRead: this.#findFirst('read', fault),
      longestPause: this.#findPause(fault),
      statuses: Object.fromEntries([...this.#statuses].map(([method, counts]) => [method, Object.fromEntries(counts)]))
    }
  }

  #findFirst (kind: Success['kind'], fault: number): number {
    const received = this.#successes.filter((success) => success.kind === kind && success.sent > fault)
    return Math.min(...received.map(({ received }) => received)) - fault
  }

  /** The longest time after the fault in which no write succeeded. */
  #findPause (fault: number): number {
    const times = this.#successes.filter(({ kind, received }) => kind === 'write' && received > fault)
      .map(({ received }) => received)
      .sort((a, b) => a - b)
    return Math.max(...times.map((time, index) => time - (times[index - 1] ?? fault)))
  }
}

export interface Counts {
  /** Writes that got a 2xx. */
  readonly acknowledged: number
  /** Those of them that the database does not have. */
  readonly missing: number
  /** Writes that the database has more than once. */
  readonly doubled: number
  /** Writes that never got a 2xx, although they were repeated. */
  readonly unanswered: number
  /** Milliseconds from the fault to the first success of a request that was sent after it. */
  readonly firstWrite: number
  readonly firstRead: number
  readonly longestPause: number
  /** By method and status. */
  readonly statuses: Readonly<Record<string, Readonly<Record<string, number>>>>
}
