// The process that asks. It is told what to drive, says that it stands ready, and drives when told to.
import { Connection, type Tally } from './connection.ts'
import { depths, scenarioOf, type Scenario } from './scenarios.ts'
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
  /** Bytes of the answers of one turn, fields included. */
  answer: number
  /** Share of the time in which the driver was busy: near 1, it is the driver that was measured. */
  driver: number
}

/** Only what a contestant has is asked of it. */
const scenarioFor = ({ table, contestant, scenario }: Task): Scenario =>
  (table === 'depths' ? depths[scenario] : scenarioOf(contestant, scenario))!
let connections: Connection[] = []
let task: Task
/** Last pages by port: the way there is long, and the same in every round. */
const lastPages = new Map<number, string>()

async function open (next: Task) {
  task = next
  const scenario = scenarioFor(task)
  const known = { items: task.items, padding: padding(task.bytes ?? 0) }
  connections = Array.from({ length: task.connections }, (_, number) => new Connection(task.port, { number, ...known }))
  for (const connection of connections) {
    const known = scenario.prepare?.follow === true ? lastPages.get(task.port) : undefined
    if (known !== undefined) connection.client.path = known
    else await connection.prepare(scenario)
    if (scenario.prepare?.follow === true) lastPages.set(task.port, connection.client.path)
  }
  return 'ready'
}

/**
 * Keeps the process from falling asleep. To wake it is work of the one that sends, and elsewhere that is not the
 * server but its network.
 */
class Vigil {
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

  /** Gives the milliseconds in which nothing came. */
  end (): number {
    clearImmediate(this.#next)
    return this.#idle
  }
}

async function drive (seconds: number): Promise<Drive> {
  const scenario = scenarioFor(task)
  const tally: Tally = { answers: 0, latencies: [], sizes: [] }
  const cpu = process.cpuUsage()
  const begun = performance.now()
  const vigil = task.awake ? new Vigil(tally) : undefined
  await Promise.all(connections.map((connection) => connection.run(scenario, tally, begun + seconds * 1000)))
  const elapsed = (performance.now() - begun) / 1000
  const { user, system } = process.cpuUsage(cpu)
  const busy = vigil === undefined ? (user + system) / 1e6 : elapsed - vigil.end() / 1000
  for (const connection of connections) connection.close()
  const sorted = Float64Array.from(tally.latencies).sort()
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!
  return {
    turns: sorted.length,
    seconds: elapsed,
    p50: at(0.5),
    p99: at(0.99),
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
