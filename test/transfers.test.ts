import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { testTransfers } from './fixtures/bank-workload.ts'
import type { Transfer } from './fixtures/bank-workload.ts'
import type { Server } from './storage/processes.ts'

t.setTimeout(600_000)

// Clients transfer money with a custom action, through three processes. The processes and the database are killed
// meanwhile. The rows are read with the driver of the database.

const maxAttempts = 400

/**
 * Repeats the transfer with its key, at any of the servers, until one of them says that it is done, or that the balance
 * is not sufficient.
 */
async function transfer (servers: readonly Server[], { source, ...content }: Transfer): Promise<boolean> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const { url } = servers[Math.floor(Math.random() * servers.length)]!
    const response = await fetch(`${url}/accounts/${source}/transfer`, {
      method: 'POST',
      body: JSON.stringify(content),
      headers: { 'content-type': 'application/json', 'idempotency-key': `"${content.label}"` }
    }).catch(() => undefined)
    const result = await response?.json().catch(() => undefined) as { code?: string } | undefined
    if (response?.status === 200) return true
    if (result?.code === 'conflict') return false
    if (response !== undefined && ![409, 503].includes(response.status)) {
      throw new Error(`${content.label}: ${response.status} ${JSON.stringify(result)}`)
    }
    await delay(50)
  }
  throw new Error(`${content.label} was not done in ${maxAttempts} attempts`)
}

testTransfers('processes and the database are killed, and no transfer is lost or done twice', {
  accounts: 4,
  clients: 6,
  transfersPerClient: 15,
  serverKillInterval: 8,
  databaseKillInterval: 30,
  connect: async (servers) => ({ transfer: (content) => transfer(servers, content) })
})
