// The client process. It receives a task, reports that it is ready, and sends requests on command.
import { Connection, type Tally } from './connection.ts'
import { createClient, depths, getScenario, lastPages, type Scenario } from './scenarios.ts'
import { padding } from './user.ts'

export interface Task {
  port: number
  contestant: string
  scenario: string
  table: 'scenarios' | 'depths'
  connections: number
  items: number
  bytes?: number
  awake: boolean
}

export interface Drive {
  turns: number
  seconds: number
  p50: number
  p99: number
  /** Bytes of the responses of one turn, with headers. */
  answer: number
  /** Share of the time in which the driver was busy: near 1, the driver was the bottleneck. */
  driver: number
}

/** A contestant is measured only with the scenarios that it supports. */
const findScenario = ({ table, contestant, scenario }: Task): Scenario =>
  (table === 'depths' ? depths[scenario] : getScenario(contestant, scenario))!
let connections: Connection[] = []
let task: Task
/** Last pages by port: the walk there is the same in every round. */
const knownPaths = new Map<number, string[]>()
/** How often each port was opened. No connection has so many turns. */
const rounds = new Map<number, number>()
const turnsOfRound = 1_000_000

async function open (next: Task) {
  task = next
  const scenario = findScenario(task)
  const round = rounds.get(task.port) ?? 0
  rounds.set(task.port, round + 1)
  connections = Array.from({ length: task.connections }, (_, number) => {
    const { connections, items, bytes = 0 } = task
    const turn = round * turnsOfRound
    return new Connection(task.port, createClient({ number, connections, items, padding: padding(bytes), turn }))
  })
  for (const connection of connections) {
    const paths = task.scenario === lastPages ? knownPaths.get(task.port) : undefined
    if (paths !== undefined) connection.client.paths.push(...paths)
    else await connection.prepare(scenario)
    if (task.scenario === lastPages) knownPaths.set(task.port, connection.client.paths)
  }
  return 'ready'
}

/**
 * Keeps the process from sleeping, and measures its idle time. Waking it costs the sender CPU time, which in
 * production is not spent by the server.
 */
class IdleMeter {
  #idle = 0
  #last = performance.now()
  #seen = 0
  #next: NodeJS.Immediate

  constructor (tally: Tally) {
    const look = () => {
      const now = performance.now()
      if (tally.answers === this.#seen) this.#idle += now - this.#last
      this.#last = now
      this.#seen = tally.answers
      this.#next = setImmediate(look)
    }
    this.#next = setImmediate(look)
  }

  /** Returns the milliseconds without responses. */
  end (): number {
    clearImmediate(this.#next)
    return this.#idle
  }
}

async function drive (seconds: number): Promise<Drive> {
  const scenario = findScenario(task)
  const tally: Tally = { answers: 0, latencies: [], sizes: [] }
  const cpu = process.cpuUsage()
  const start = performance.now()
  const meter = task.awake ? new IdleMeter(tally) : undefined
  await Promise.all(connections.map((connection) => connection.run(scenario, tally, start + seconds * 1000)))
  const elapsed = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(cpu)
  const busy = meter === undefined ? (user + system) / 1e6 : elapsed - meter.end() / 1000
  for (const connection of connections) connection.close()
  const sorted = Float64Array.from(tally.latencies).sort()
  const getQuantile = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!
  return {
    turns: sorted.length,
    seconds: elapsed,
    p50: getQuantile(0.5),
    p99: getQuantile(0.99),
    answer: tally.sizes.reduce((sum, size) => sum + size, 0) / tally.sizes.length,
    driver: busy / elapsed
  }
}

process.on('message', async (message: { open: Task } | { drive: number }) => {
  try {
    process.send!('open' in message ? await open(message.open) : await drive(message.drive))
  } catch (error) {
    process.send!({ error: String(error) })
  }
})
process.on('disconnect', () => process.exit())
