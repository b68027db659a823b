import { setTimeout as delay } from 'node:timers/promises'
import t, { test } from 'tap'
import { defineBank } from './fixtures/bank-server.ts'
import { killableDatabases, startServer } from './storage/processes.ts'
import type { Server } from './storage/processes.ts'

t.setTimeout(600_000)

// Clients transfer money with a custom action, through three processes. The processes and the database are killed
// meanwhile. The rows are read with the driver of the database.

interface Transfer {
  readonly label: string
  readonly source: number
  readonly target: number
  readonly amount: number
}

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

const accountIds = [1, 2, 3, 4]
const funds = 20
const clients = 6
const transfersPerClient = 15
/** After how many transfers one of the servers is killed, and the database. */
const serverKillInterval = 8
const databaseKillInterval = 30

for (const { kind, skip, open } of killableDatabases) {
  test(`${kind}: processes and the database are killed, and no transfer is lost or done twice`, { skip }, async (t) => {
    const database = await open()
    const { accounts, outbox, ledger } = defineBank(database.storage)
    for (const definition of [accounts, outbox, ledger]) await database.storage.createTable(definition)
    const context = { signal: new AbortController().signal, scope: undefined }
    for (const id of accountIds) await accounts.storage.insert({ id, balance: funds }, context)
    const servers = await Promise.all([1, 2, 3].map(() => startServer('bank-server.ts', database.place)))
    t.teardown(async () => {
      for (const { child } of servers) child.kill('SIGKILL')
      await database.end()
    })

    let done = 0
    let kills = 0
    let restarts = 0
    let interventions = Promise.resolve()
    const onTransfer = (): void => {
      done++
      if (done % serverKillInterval === 0) {
        const index = kills++ % servers.length
        interventions = interventions.then(async () => {
          servers[index]!.child.kill('SIGKILL')
          servers[index] = await startServer('bank-server.ts', database.place)
        })
      }
      if (done % databaseKillInterval === 0 && database.restart !== undefined) {
        restarts++
        interventions = interventions.then(database.restart)
      }
    }
    const acknowledged: string[] = []
    await Promise.all(Array.from({ length: clients }, async (_, client) => {
      for (let turn = 0; turn < transfersPerClient; turn++) {
        const source = accountIds[(client + turn) % accountIds.length]!
        const target = accountIds[(client + 2 * turn + 1) % accountIds.length]!
        if (source === target) continue
        const label = `${client}.${turn}`
        if (await transfer(servers, { label, source, target, amount: 1 + turn % 5 })) acknowledged.push(label)
        onTransfer()
      }
    }))
    await interventions

    const rows = await database.rows('SELECT label, source, target, amount FROM ledger')
    const labels = rows.map(({ label }) => String(label))
    t.strictSame(labels.toSorted(), acknowledged.toSorted(), 'each acknowledged transfer is there once, and no other')
    const balances = new Map(accountIds.map((id) => [id, funds]))
    const add = (id: unknown, change: number) => balances.set(Number(id), balances.get(Number(id))! + change)
    for (const { source, target, amount } of rows) {
      add(source, -Number(amount))
      add(target, Number(amount))
    }
    const stored = await database.rows('SELECT id, balance FROM accounts ORDER BY id')
    t.strictSame(stored.map(({ id, balance }) => [Number(id), Number(balance)]), [...balances])
    t.equal(stored.reduce((sum, { balance }) => sum + Number(balance), 0), accountIds.length * funds)
    const changes = await database.rows('SELECT account, `change` FROM outbox'.replaceAll('`', kind === 'mysql' ? '`' : '"'))
    const expected = rows.flatMap(({ source, target, amount }) => [`${source} ${-Number(amount)}`, `${target} ${amount}`])
    const found = changes.map(({ account, change }) => `${account} ${change}`)
    t.strictSame(found.toSorted(), expected.toSorted(), 'the outbox has one row for each change')
    t.comment(`${acknowledged.length} transfers of ${done}, ${kills} kills of servers, ${restarts} of the database`)
  })
}
