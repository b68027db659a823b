import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { testTransfers } from '../../fixtures/bank-workload.ts'
import type { Transfer } from '../../fixtures/bank-workload.ts'
import { startProxy } from './proxy.ts'

t.setTimeout(600_000)

// Clients transfer money with batches, through three processes and a proxy that loses and repeats requests. The
// processes and the database are killed meanwhile. The rows are read with the driver of the database.

interface Answer {
  readonly status: number
  readonly content: unknown
}

/** Undefined without a response. */
async function post (url: string, content: unknown, key: string): Promise<Answer | undefined> {
  try {
    const response = await fetch(`${url}/batch`, {
      method: 'POST',
      body: JSON.stringify(content),
      headers: { 'content-type': 'application/json', 'idempotency-key': `"${key}"` }
    })
    return { status: response.status, content: await response.json() }
  } catch {
    return undefined
  }
}

/** Reads both accounts. A GET needs no key, so its own serves. */
async function readAccounts (url: string, { source, target }: Transfer, key: string): Promise<unknown> {
  return (await post(url, [source, target].map((id) => ({ method: 'GET', path: `/accounts/${id}` })), key))?.content
}

interface AccountResult {
  readonly etag: string
  readonly content: { readonly id: number, readonly balance: number }
}

const maxAttempts = 600

/**
 * Moves money with preconditions on both accounts. A batch is repeated with its key, unless it is known that nothing
 * was done: then the accounts are read again. Returns false if the balance is not sufficient.
 */
async function transfer (url: string, given: Transfer): Promise<boolean> {
  const { label, source, target, amount } = given
  let key: string | undefined
  let parts: unknown
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    if (key === undefined) {
      const accounts = await readAccounts(url, given, `${label} read ${attempt}`)
      if (!Array.isArray(accounts)) {
        await delay(20)
        continue
      }
      const [from, to] = accounts as [AccountResult, AccountResult]
      if (from.content.balance < amount) return false
      const set = ({ content: { id }, etag }: AccountResult, balance: number) => {
        return { method: 'PATCH', path: `/accounts/${id}`, ifMatch: etag, content: { balance } }
      }
      key = `${label} ${attempt}`
      parts = [
        { id: 'entry', method: 'POST', path: '/ledger', content: { label, source, target, amount } },
        set(from, from.content.balance - amount),
        set(to, to.content.balance + amount),
        { method: 'GET', path: '/ledger/{entry#/id}' }
      ]
    }
    const answer = await post(url, parts, key)
    const { code, problem } = Object(answer?.content) as { code?: string, problem?: { code: string } }
    if (answer?.status === 200) return true
    const isRefused = code === 'batch-failed'
    if (isRefused && problem?.code !== 'precondition-failed' && problem?.code !== 'concurrent-update') {
      throw new Error(`${label}: ${JSON.stringify(answer?.content)}`)
    }
    // Another transfer came first, and nothing was done. Without a response, the same batch is sent again.
    if (isRefused) key = undefined
    else if (answer !== undefined && code !== 'idempotency-key-in-use' && answer.status !== 503) {
      throw new Error(`${label}: ${answer.status} ${JSON.stringify(answer.content)}`)
    }
    await delay(10 + Math.random() * 30)
  }
  throw new Error(`${label} was not done in ${maxAttempts} attempts`)
}

testTransfers('no batch is lost, done twice or half done, whatever is killed', {
  accounts: 6,
  clients: 5,
  transfersPerClient: 12,
  serverKillInterval: 7,
  databaseKillInterval: 20,
  async connect (servers) {
    const proxy = await startProxy(() => servers[Math.floor(Math.random() * servers.length)]!.url)
    return {
      transfer: (content) => transfer(proxy.url, content),
      close: () => proxy.close(),
      describe: () => `the proxy: ${JSON.stringify(proxy.counts)}`
    }
  }
})
