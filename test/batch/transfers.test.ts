import { setTimeout as delay } from 'node:timers/promises'
import t, { test } from 'tap'
import { defineBank } from '../fixtures/bank-server.ts'
import { killableDatabases, startServer } from '../storage/processes.ts'
import { startProxy } from './proxy.ts'

t.setTimeout(600_000)

// Clients transfer money with batches, through three processes and a proxy that loses and repeats requests. The
// processes and the database are killed meanwhile. The rows are read with the driver of the database.

interface Transfer {
  readonly label: string
  readonly source: number
  readonly target: number
  readonly amount: number
}

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

const accountIds = [1, 2, 3, 4, 5, 6]
const funds = 20
const clients = 5
const transfersPerClient = 12
/** After how many transfers one of the servers is killed, and the database. */
const serverKillInterval = 7
const databaseKillInterval = 20

for (const { kind, skip, open } of killableDatabases) {
  test(`${kind}: no batch is lost, done twice or half done, whatever is killed`, { skip }, async (t) => {
    const database = await open()
    const { accounts, outbox, ledger } = defineBank(database.storage)
    for (const definition of [accounts, outbox, ledger]) await database.storage.createTable(definition)
    const context = { signal: new AbortController().signal, scope: undefined }
    for (const id of accountIds) await accounts.storage.insert({ id, balance: funds }, context)
    const servers = await Promise.all([1, 2, 3].map(() => startServer('bank-server.ts', database.place)))
    const proxy = await startProxy(() => servers[Math.floor(Math.random() * servers.length)]!.url)
    t.teardown(async () => {
      await proxy.close()
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
        if (await transfer(proxy.url, { label, source, target, amount: 1 + turn % 5 })) acknowledged.push(label)
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
    t.strictSame(stored.map(({ id, balance }) => [Number(id), Number(balance)]), [...balances], 'no batch is half done')
    t.equal(stored.reduce((sum, { balance }) => sum + Number(balance), 0), accountIds.length * funds)
    const text = 'SELECT account, `change` FROM outbox'.replaceAll('`', kind === 'mysql' ? '`' : '"')
    const changes = (await database.rows(text)).map(({ account, change }) => `${account} ${change}`)
    const expected = rows.flatMap(({ source, target, amount }) => {
      return [`${source} ${-Number(amount)}`, `${target} ${amount}`]
    })
    t.strictSame(changes.toSorted(), expected.toSorted(), 'the hooks have run in the same transactions')
    t.comment(`${acknowledged.length} transfers of ${done}, ${kills} kills of servers, ${restarts} of the database`)
    t.comment(`the proxy: ${JSON.stringify(proxy.counts)}`)
  })
}
