// What clients see if each of their requests reaches another server of a Galera cluster.
import { randomUUID } from 'node:crypto'
import Fastify, { type FastifyInstance } from 'fastify'
import driver from 'mysql2/promise'
import collection from '../../lib/index.ts'
import { createTables, openDatabase, type Opened } from './databases.ts'
import { startGaleraCluster } from './galera.ts'
import { defineOrders } from './orders.ts'

export interface Consistency {
  /** Whether reads wait for what other servers have committed. */
  readonly waits: boolean
  /** How many orders were created through one server, and read through another. */
  readonly reads: number
  /** Those that were 404. */
  readonly notFound: number
  /** How many orders were changed through one server, and changed again through another, with the tag of the first. */
  readonly changes: number
  /** Those that were 412 or 404. */
  readonly refused: number
  /** In milliseconds, the median of requests one after the other, while nothing else runs. */
  readonly readTime: number
  readonly changeTime: number
}

const requests = 400
const clients = 4

interface App {
  readonly app: FastifyInstance
  readonly database: Opened
}

async function startApp (url: string, waits: boolean): Promise<App> {
  const database = openDatabase(url, { waits })
  const app = Fastify()
  await app.register(collection, defineOrders(database.storage))
  await app.ready()
  return { app, database }
}

export async function measureConsistency (): Promise<Consistency[]> {
  const cluster = await startGaleraCluster()
  try {
    await createTables(cluster.url)
    const [first = '', second = ''] = cluster.urls
    return [await measure(first, second, false), await measure(first, second, true)]
  } finally {
    await cluster.stop()
  }
}

async function measure (first: string, second: string, waits: boolean): Promise<Consistency> {
  const [one, other] = [await startApp(first, waits), await startApp(second, waits)]
  const reads: number[] = []
  const changes: number[] = []
  const runClient = async () => {
    while (reads.length < requests) {
      const { headers } = await one.app.inject({ method: 'POST', url: '/orders', payload: { number: randomUUID() } })
      const url = String(headers.location)
      reads.push((await other.app.inject({ url })).statusCode)
      const { headers: { etag } } = await change(one, url, '*')
      changes.push((await change(other, url, String(etag))).statusCode)
    }
  }
  const stopJob = startJob(first)
  await Promise.all(Array.from({ length: clients }, runClient))
  await stopJob()

  const { headers } = await one.app.inject({ method: 'POST', url: '/orders', payload: { number: randomUUID() } })
  const url = String(headers.location)
  const readTime = await findMedianTime(() => other.app.inject({ url }))
  const changeTime = await findMedianTime(() => change(other, url, '*'))
  for (const { app, database } of [one, other]) {
    await app.close()
    await database.close()
  }
  return {
    waits,
    reads: reads.length,
    notFound: reads.filter((status) => status === 404).length,
    changes: changes.length,
    refused: changes.filter((status) => status === 404 || status === 412).length,
    readTime,
    changeTime
  }
}

async function change ({ app }: App, url: string, tag: string) {
  const headers = { 'content-type': 'application/merge-patch+json', 'if-match': tag }
  return await app.inject({ method: 'PATCH', url, payload: JSON.stringify({ number: randomUUID() }), headers })
}

/** A job that changes many rows at once, again and again: the other servers need a while to apply that. */
function startJob (url: string): () => Promise<void> {
  const ending = new AbortController()
  const run = async () => {
    const connection = await driver.createConnection({ uri: url })
    await connection.query('CREATE TABLE IF NOT EXISTS job (id INT PRIMARY KEY, value DOUBLE)')
    await connection.query('REPLACE INTO job SELECT seq, 0 FROM seq_1_to_2000')
    while (!ending.signal.aborted) await connection.query('UPDATE job SET value = RAND()')
    await connection.end()
  }
  const running = run()
  return async () => {
    ending.abort()
    await running
  }
}

async function findMedianTime (send: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let count = 0; count < requests; count++) {
    const start = performance.now()
    await send()
    times.push(performance.now() - start)
  }
  return times.sort((a, b) => a - b)[requests / 2] ?? 0
}
