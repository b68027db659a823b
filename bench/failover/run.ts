// npm run failover: real clusters lose a server while several processes of an app write to them.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Cluster, Fault } from './cluster.ts'
import { measureConsistency } from './consistency.ts'
import { createTables } from './databases.ts'
import * as galera from './galera.ts'
import { Load, type Counts } from './load.ts'
import * as postgres from './postgres.ts'
import { findMissing, waitFor, type Needed } from './programs.ts'

const usage = `npm run failover [-- options]

  --only <text>     only the scenarios whose name contains the text
  --seconds <n>     how long clients write before the fault, and after the recovery (default: 10)
  --json            print the counts as JSON

Needs Linux and Debian's packages. It takes several minutes, and ends with status 1 if a write is missing or doubled.`

/** Processes of the app. */
const processes = 3

interface Scenario {
  readonly name: string
  readonly needed: Needed
  /** Whether a write that was acknowledged can be lost: an asynchronous standby may not have it yet. */
  readonly canLose?: boolean
  run (): Promise<{ cluster: Cluster, fault: Fault }>
}

const scenarios: readonly Scenario[] = [
  {
    name: 'PostgreSQL, synchronous: leader killed',
    needed: postgres.needed,
    async run () {
      const cluster = await postgres.startPostgresCluster({ synchronous: true })
      return { cluster, fault: cluster.killLeader() }
    }
  },
  {
    name: 'PostgreSQL, synchronous: leader frozen, then killed',
    needed: postgres.needed,
    async run () {
      const cluster = await postgres.startPostgresCluster({ synchronous: true })
      return { cluster, fault: cluster.freezeLeader() }
    }
  },
  {
    name: 'PostgreSQL, asynchronous: leader killed',
    needed: postgres.needed,
    canLose: true,
    async run () {
      const cluster = await postgres.startPostgresCluster({ synchronous: false })
      return { cluster, fault: cluster.killLeader() }
    }
  },
  {
    name: 'Galera: server killed, then started again',
    needed: galera.needed,
    async run () {
      const cluster = await galera.startGaleraCluster()
      return { cluster, fault: cluster.killServer() }
    }
  },
  {
    name: 'Galera: server isolated from the others, then connected again',
    needed: galera.needed,
    async run () {
      const cluster = await galera.startGaleraCluster()
      return { cluster, fault: cluster.isolateServer() }
    }
  },
  {
    name: 'Galera: server frozen, then continued',
    needed: galera.needed,
    async run () {
      const cluster = await galera.startGaleraCluster()
      return { cluster, fault: cluster.freezeServer() }
    }
  }
]

/** Has no fault: what clients see if their requests reach different servers. */
const readsName = 'Galera: reads on another server'

interface App {
  readonly address: string
  readonly child: ChildProcess
}

async function startApp (url: string): Promise<App> {
  const child = fork(fileURLToPath(new URL('app.ts', import.meta.url)), [url], { execArgv: [] })
  const ended = once(child, 'exit').then(([code]) => { throw new Error(`A process of the app ended with ${code}`) })
  const [address] = await Promise.race([once(child, 'message'), ended]) as [string]
  ended.catch(() => {})
  return { address, child }
}

interface Outcome extends Counts {
  /** Milliseconds from the fault to the first write over a new connection, without the library. */
  readonly databaseBack: number
}

/** Waits for the first write that succeeds. One that does not respond does not delay the others. */
async function waitForWrite (cluster: Cluster): Promise<void> {
  let hasWritten = false
  // eslint-disable-next-line no-unmodified-loop-condition
  while (!hasWritten) {
    cluster.write().then(() => { hasWritten = true }, () => {})
    await delay(100)
  }
}

async function runScenario ({ run }: Scenario, seconds: number): Promise<Outcome> {
  const { cluster, fault } = await run()
  const apps: App[] = []
  try {
    await createTables(cluster.url)
    for (let count = 0; count < processes; count++) apps.push(await startApp(cluster.url))
    const load = new Load(apps.map(({ address }) => address))
    await load.start()
    await delay(seconds * 1000)
    await fault.begin()
    const time = Date.now()
    const back = waitForWrite(cluster).then(() => Date.now() - time)
    await waitFor('The recovery of every process', async () => load.hasRecovered(time), 120)
    await delay(seconds * 1000)
    if (fault.end !== undefined) {
      await fault.end()
      await delay(seconds * 1000)
    }
    await load.end()
    const stopped = apps.filter(({ child }) => child.exitCode !== null || child.signalCode !== null)
    if (stopped.length > 0) throw new Error(`${stopped.length} processes of the app have ended`)
    return { ...load.evaluate(await cluster.readOrders(), time), databaseBack: await back }
  } finally {
    for (const { child } of apps) child.kill('SIGKILL')
    await cluster.stop()
  }
}

/** What a client may get while a server is replaced. Anything else is a mistake. */
const expected = /^(?:2\d\d|503 (?:storage-unavailable|timeout)|409 idempotency-key-in-use)$/

function findMistakes ({ canLose = false }: Scenario, counts: Counts): string[] {
  const { missing, doubled, unanswered, statuses } = counts
  const others = Object.values(statuses).flatMap((byStatus) => Object.keys(byStatus))
    .filter((status) => !expected.test(status))
  return [
    ...(missing > 0 && !canLose ? [`${missing} acknowledged writes are missing`] : []),
    ...(doubled > 0 ? [`${doubled} writes were done twice`] : []),
    ...(unanswered > 0 ? [`${unanswered} writes never succeeded`] : []),
    ...(others.length > 0 ? [`unexpected responses: ${[...new Set(others)].join(', ')}`] : [])
  ]
}

function printRow (...cells: Array<string | number>): void {
  console.log(`| ${cells.join(' | ')} |`)
}

function describeStatuses (statuses: Counts['statuses']): string {
  return Object.entries(statuses).map(([method, counts]) => {
    return `${method} ${Object.entries(counts).map(([status, count]) => `${status}: ${count}`).join(', ')}`
  }).join('; ')
}

const inSeconds = (milliseconds: number) => `${(milliseconds / 1000).toFixed(1)} s`

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    seconds: { type: 'string', default: '10' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false }
  }
})
if (values.help) {
  console.log(usage)
  process.exit()
}
const isChosen = (name: string) => name.toLowerCase().includes(values.only.toLowerCase())
const chosen = scenarios.filter(({ name }) => isChosen(name))
const readsAreChosen = isChosen(readsName)
const needed = [...chosen, ...(readsAreChosen ? [galera] : [])].map(({ needed }) => needed)
const missing = findMissing(Object.assign({}, ...needed) as Needed)
if (missing.length > 0 || needed.length === 0) {
  const names = [...scenarios.map(({ name }) => name), readsName]
  console.error(needed.length === 0
    ? `No scenario has ${JSON.stringify(values.only)} in its name: ${names.join('; ')}`
    : `Not installed: ${missing.join(', ')}. On Debian: apt-get install --no-install-recommends ${missing.join(' ')}`)
  process.exit(1)
}

if (!values.json && chosen.length > 0) {
  printRow('scenario', 'acknowledged', 'missing', 'doubled', 'database back', 'first write', 'first read', 'longest pause', 'responses')
  printRow(...Array<string>(9).fill('---'))
}
for (const scenario of chosen) {
  const counts = await runScenario(scenario, Number(values.seconds))
  const mistakes = findMistakes(scenario, counts)
  if (values.json) {
    console.log(JSON.stringify({ scenario: scenario.name, ...counts, mistakes }))
  } else {
    const { acknowledged, missing, doubled, databaseBack, firstWrite, firstRead, longestPause, statuses } = counts
    const times = [databaseBack, firstWrite, firstRead, longestPause].map(inSeconds)
    printRow(scenario.name, acknowledged, missing, doubled, ...times, describeStatuses(statuses))
  }
  for (const mistake of mistakes) console.error(`${scenario.name}: ${mistake}`)
  if (mistakes.length > 0) process.exitCode = 1
}
if (readsAreChosen) {
  const results = await measureConsistency()
  if (!values.json) {
    printRow(readsName, '404', 'valid tag refused', 'GET', 'PATCH')
    printRow(...Array<string>(5).fill('---'))
  }
  for (const result of results) {
    const { waits, reads, notFound, changes, refused, readTime, changeTime } = result
    const times = [readTime, changeTime].map((time) => `${time.toFixed(1)} ms`)
    if (values.json) console.log(JSON.stringify({ scenario: readsName, ...result }))
    else printRow(waits ? 'wsrep_sync_wait = 7' : 'default', `${notFound} of ${reads}`, `${refused} of ${changes}`, ...times)
    if (!waits || notFound + refused === 0) continue
    console.error(`${readsName}: what was acknowledged is not visible`)
    process.exitCode = 1
  }
}
process.exit()
