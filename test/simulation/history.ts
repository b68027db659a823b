import { randomUUID } from 'node:crypto'
import { findViolations } from './checks.ts'
import { Database } from './database.ts'
import type { Fault } from './database.ts'
import { Doors } from './doors.ts'
import type { Failure, Result } from './doors.ts'
import { chooseConfig, choosePlan, chooseRows, describeOperation, itemIds } from './plan.ts'
import type { Config, Operation } from './plan.ts'
import { Random } from './random.ts'
import { replaceGlobals, useWorld } from './replace-globals.ts'
import { reuseValidators } from './reuse-validators.ts'
import { createService, lease, limit } from './service.ts'
import type { AppConfig, Notice, Probe, Service } from './service.ts'
import { getOwner } from './transaction.ts'
import { World } from './world.ts'

// One history: what clients send, the faults, and the order of everything follow from the seed.

/** An operation that is sent once. Clients send it again with the same key. */
export interface Attempt {
  readonly name: string
  readonly operation: Operation
  readonly process: number
  /** How many commits there were. */
  readonly start: number
  end: number
  result: Result | undefined
  /** How often the function of a transaction from code was called. */
  runs: number
  /** Whether a commit had begun when the result came, unless it was rolled back and nothing else was going on. */
  mayHaveCommitted: boolean
  /** The calls of its transaction that were refused or have failed, whose errors it has caught. */
  readonly caught: ReadonlyMap<number, Failure>
}

export interface Observed {
  readonly config: Config
  readonly attempts: readonly Attempt[]
  readonly notices: ReadonlyArray<Notice & { readonly owner: string }>
  readonly logged: ReadonlyArray<Record<string, unknown>>
  /** How often each attempt has called a hook. */
  readonly calls: ReadonlyMap<string, number>
  /** The attempts of which the database has rolled something back. */
  readonly rolledBack: ReadonlySet<string>
  /** How many statements each attempt has sent. */
  readonly statements: ReadonlyMap<string, number>
  /** The attempts that have waited for each other in a circle. */
  readonly deadlocks: ReadonlyArray<readonly string[]>
}

export interface History {
  readonly seed: number
  readonly config: Config
  readonly operations: readonly Operation[]
  readonly lines: readonly string[]
  /** Everything that was sent to clients, in its order. */
  readonly responses: readonly string[]
  readonly violations: readonly string[]
}

export interface HistoryOptions {
  /** Leaves out operations, to find a shorter history. */
  readonly keeps?: (operation: Operation) => boolean
  /** The order of everything, if it is not that of the seed. */
  readonly schedule?: number
  /** Only `ann` calls, nothing fails, and the values that she does not see are those of the first or second kind. */
  readonly onlyAnn?: 'first' | 'second'
}

/** The apps of one configuration. They are used again: to start one takes longer than a history. */
interface Fixture {
  readonly database: Database
  readonly services: Service[]
  /** Starts another process, in place of one that has ended. */
  readonly start: (process: number) => Promise<Service>
  probe: Probe
}

const fixtures = new Map<string, Fixture>()
const unhandled: unknown[] = []

replaceGlobals()
reuseValidators()
process.on('unhandledRejection', (error) => unhandled.push(error))

export async function runHistory (seed: number, options: HistoryOptions = {}): Promise<History> {
  // The plan does not depend on what the app draws.
  const random = new Random(seed + 0.5)
  const chosen = chooseConfig(random)
  const onlyAnn = { hasFaults: false, ending: undefined, focus: { ...chosen.focus, callers: ['ann'] } }
  const config = options.onlyAnn === undefined ? chosen : { ...chosen, ...onlyAnn }
  const fixture = await findFixture(config.app)
  const spare = config.ending && await startSpare(fixture)
  const world = new World(options.schedule ?? seed)
  useWorld(world)
  unhandled.length = 0
  const run = new Run({ world, random, config, fixture, spare, options })
  const violations = await run.run()
  violations.push(...unhandled.map((error) => `unhandled: ${String(error)}`))
  if (violations.length === 0) violations.push(...await probeQueues(world, fixture))
  // What it has left behind must not be found in others. A process that has ended has another one in its place.
  if (violations.length > 0) fixtures.delete(JSON.stringify(config.app))
  useWorld(undefined)
  return { seed, config, operations: run.operations, lines: world.history, responses: run.responses, violations }
}

/**
 * Runs a history of one caller twice, with different values where it sees nothing. Every response has to be the same.
 */
export async function compareHidden (seed: number): Promise<History> {
  const [history, other] = [await runHistory(seed, { onlyAnn: 'first' }), await runHistory(seed, { onlyAnn: 'second' })]
  const different = history.responses.find((response, index) => response !== other.responses[index])
  const index = different === undefined ? -1 : history.responses.indexOf(different)
  const violation = `inference: ${different} and ${other.responses[index]}`
  return { ...history, violations: [...history.violations, ...index < 0 ? [] : [violation]] }
}

/** What it draws at its start is not part of the history. */
async function startSpare (fixture: Fixture): Promise<Service> {
  const world = createFarWorld()
  useWorld(world)
  fixture.database.reset(world)
  const service = await fixture.start(0)
  await sweepKeys(service, world)
  return service
}

function createFarWorld (): World {
  const world = new World(0)
  world.now *= 2
  return world
}

async function findFixture (config: AppConfig): Promise<Fixture> {
  const key = JSON.stringify(config)
  const fixture = fixtures.get(key) ?? await createFixture(config)
  fixtures.set(key, fixture)
  return fixture
}

async function createFixture (config: AppConfig): Promise<Fixture> {
  // What an app draws at boot must not change the history: it may have booted already.
  const world = createFarWorld()
  useWorld(world)
  const database = new Database(world)
  const services: Service[] = []
  const fixture: Fixture = {
    database,
    services,
    start: (process) => createService(config, { database, identity: {}, process, probe }),
    probe: { async callHook () {}, addNotice () {}, addResponse () {}, addLogLine () {} }
  }
  const probe: Probe = {
    callHook: (name) => fixture.probe.callHook(name),
    addNotice: (notice) => fixture.probe.addNotice(notice),
    addResponse: (attempt, response) => fixture.probe.addResponse(attempt, response),
    addLogLine: (line) => fixture.probe.addLogLine(line)
  }
  for (let process = 0; process < config.processes; process++) services.push(await fixture.start(process))
  for (const service of services) await sweepKeys(service, world)
  return fixture
}

/** Expired keys are removed once a minute. These requests do that, in a future that no history reaches. */
async function sweepKeys ({ app }: Service, world: World): Promise<void> {
  const part = { method: 'POST', path: '/items/tally', content: { by: 'boot' } }
  const requests = [{ url: part.path, payload: part.content }, { url: '/batch', payload: [part] }]
  let open = requests.length
  for (const request of requests) {
    const headers = { 'x-user': 'root', 'idempotency-key': `"${randomUUID()}"` }
    const response = app.inject({ method: 'POST', headers, ...request })
    response.finally(() => open--).catch((error: unknown) => unhandled.push(error))
  }
  await world.run({ isDone: () => open === 0 })
  // What goes on after the responses.
  await world.run({ isDone: () => false })
}

const faults: readonly Fault[] = ['lost before', 'lost after', 'rolled back', 'stale']

interface RunContext {
  readonly world: World
  readonly random: Random
  readonly config: Config
  readonly fixture: Fixture
  /** Takes the place of the first process. */
  readonly spare: Service | undefined
  readonly options: HistoryOptions
}

class Run {
  readonly operations: readonly Operation[]
  readonly responses: string[] = []
  readonly #world: World
  readonly #spare: Service | undefined
  readonly #config: Config
  readonly #fixture: Fixture
  readonly #doors: Doors
  readonly #attempts: Attempt[] = []
  readonly #notices: Array<Notice & { owner: string }> = []
  readonly #logged: Array<Record<string, unknown>> = []
  readonly #calls = new Map<string, number>()
  /** Called when an operation is first sent. */
  readonly #onBegin = new Map<Operation, () => void>()
  /** What was found while it ran. */
  readonly #violations: string[] = []

  constructor ({ world, random, config, fixture, spare, options }: RunContext) {
    this.#world = world
    this.#spare = spare
    this.#config = config
    this.#fixture = fixture
    this.#doors = new Doors(world, (process) => fixture.services[process]!)
    world.timerChance = config.hasFaults ? random.pick([0.01, 0.05]) : 0
    const rate = config.hasFaults ? random.pick([0, 0.02, 0.06, 0.15, 0.3]) : 0
    fixture.database.reset(world, {
      ...config,
      chooseFault: () => rate > 0 && world.random.chance(rate) ? world.random.pick(faults) : undefined
    })
    const { keeps = () => true, onlyAnn } = options
    for (const { table, row } of chooseRows(random, config, onlyAnn === 'second')) fixture.database.seed(table, row)
    this.operations = choosePlan(random, config).filter(keeps)
    fixture.probe = this.#createProbe()
  }

  /** Returns the violations. */
  async run (): Promise<string[]> {
    const work = this.#start()
    let finished = 0
    for (const one of work) one.then(() => finished++, (error: unknown) => unhandled.push(error))
    await this.#world.run({ isDone: () => finished === work.length })
    const open = this.#attempts.filter(({ result }) => result === undefined).map(({ name }) => name)
    const isHanging = finished < work.length
    // What goes on after the last response.
    await this.#world.run({ isDone: () => false })
    const { database } = this.#fixture
    // With faults, a claim may stay until its lease is over.
    const left = database.leftovers.filter((text) => !this.#config.hasFaults || !text.includes('claimed'))
    const observed = {
      config: this.#config,
      attempts: this.#attempts,
      notices: this.#notices,
      logged: this.#logged,
      calls: this.#calls,
      rolledBack: database.rolledBack,
      statements: database.statements,
      deadlocks: database.deadlocks
    }
    return [
      ...this.#violations,
      ...isHanging ? [`hang: ${open.join()} never ended`] : left.map((text) => `left: ${text}`),
      ...findViolations(observed, database.journal)
    ]
  }

  #createProbe (): Probe {
    const faultsByName = new Map(this.operations.map(({ name, hookFault }) => [name, hookFault]))
    return {
      callHook: async (name) => {
        const owner = getOwner()
        const call = `${owner} ${name}`
        this.#calls.set(call, (this.#calls.get(call) ?? 0) + 1)
        const fault = faultsByName.get(owner)
        if (fault?.hook !== name) return
        this.#world.log(`    ${owner} ${name}: ${fault.kind}`)
        if (fault.kind === 'throw') throw new Error('fault of a hook')
        if (fault.kind === 'never') await new Promise(() => {})
        await new Promise((resolve) => setTimeout(resolve, this.#chooseDelay()))
      },
      addNotice: (notice) => { this.#notices.push({ ...notice, owner: getOwner() }) },
      addResponse: (attempt, response) => { this.#doors.responses.set(attempt, response) },
      addLogLine: (line) => { this.#logged.push(line) }
    }
  }

  /** Often the request ends after its key could be claimed by another one, and before its time is over. */
  #chooseDelay (): number {
    const { random } = this.#world
    return random.chance(0.5) ? lease + random.below(limit - lease) : random.below(2 * limit)
  }

  /** Starts all clients. */
  #start (): Array<Promise<void>> {
    const clients = [...new Set(this.operations.map(({ client }) => client))]
    const twins = this.operations.filter(({ hasTwin }) => hasTwin)
    return [
      ...clients.map((client) => this.#runClient(client)),
      ...twins.map((operation) => this.#runTwin(operation)),
      ...this.#spare === undefined ? [] : [this.#endProcess(this.#spare)]
    ]
  }

  /** The first process ends while requests are in flight, and another one takes its place. */
  async #endProcess (spare: Service): Promise<void> {
    await this.#world.skip('the operator', 1 + this.#world.random.below(60))
    const { services, database } = this.#fixture
    const [service] = services as [Service]
    services[0] = spare
    this.#world.log(`  process 0: ${this.#config.ending}`)
    if (this.#config.ending === 'close') return service.app.close()
    database.kill(service.identity)
    this.#doors.lose(service)
  }

  async #runClient (client: number): Promise<void> {
    for (const operation of this.operations.filter((one) => one.client === client)) {
      await this.#runOperation(operation)
    }
  }

  /** A request with a key is sent again if its outcome is not known. */
  async #runOperation (operation: Operation): Promise<void> {
    const { name, process, key } = operation
    const maxAttempts = key === undefined ? 1 : 3
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const isFirst = attempt === 1
      const other = (process + attempt) % this.#fixture.services.length
      const { status } = await this.#attempt(operation, isFirst ? name : `${name}/${attempt}`, isFirst ? process : other)
      if (status > 0 && status < 500) return
    }
  }

  /** Another client has the same key and content, and comes at any time, perhaps to another process. */
  async #runTwin (operation: Operation): Promise<void> {
    const { name, hookFault } = operation
    await this.#world.skip(`twin ${name}`, 1 + this.#world.random.below(30))
    // Often just when the first one, which still runs, no longer has the key.
    const isLater = hookFault?.kind === 'late' && this.#world.random.chance(0.7)
    if (isLater) {
      await this.#waitForBegin(operation)
      await this.#world.sleep(lease + this.#world.random.below(100))
    }
    await this.#attempt(operation, `${name}/twin`, (operation.process + 1) % this.#fixture.services.length)
  }

  async #waitForBegin (operation: Operation): Promise<void> {
    if (this.#attempts.some((attempt) => attempt.operation === operation)) return
    await new Promise<void>((resolve) => this.#onBegin.set(operation, resolve))
  }

  async #attempt (operation: Operation, name: string, process: number): Promise<Result> {
    const { journal, effects } = this.#fixture.database
    await this.#world.step(`client ${operation.client}`, `client ${operation.client} sends ${name}`)
    const caught = new Map<number, Failure>()
    const attempt: Attempt = {
      name,
      operation,
      process,
      start: journal.length,
      end: -1,
      result: undefined,
      runs: 0,
      mayHaveCommitted: false,
      caught
    }
    this.#attempts.push(attempt)
    this.#onBegin.get(operation)?.()
    this.#world.log(`${name} begins: ${describeOperation(operation)}`)
    if (operation.isAborted && name === operation.name) {
      this.#abortLater(attempt).catch((error: unknown) => unhandled.push(error))
    }
    const onRun = () => { attempt.runs++ }
    const result = await this.#doors.send(operation, { name, process, caught, onRun })
    attempt.end = journal.length
    attempt.result = result
    // After some time, a response no longer waits for its work.
    attempt.mayHaveCommitted = (effects.get(name) ?? 0) > 0 || this.#world.goesOn(name, limit)
    this.responses.push(`${name} ${result.status} ${result.text}`)
    this.#world.log(`${name} ends: ${describeResult(result)}`)
    return result
  }

  async #abortLater (attempt: Attempt): Promise<void> {
    const { name, operation: { door, hookFault } } = attempt
    await this.#world.skip(`abort ${name}`, 1 + this.#world.random.below(12))
    this.#doors.abort(name)
    await this.#world.settled()
    // A request has no response any more, and a transaction from code has no signal itself. A hook may go on, and a
    // pause before another attempt is short.
    const isCall = door === 'code' && hookFault === undefined
    const waits = isCall && attempt.result === undefined && !this.#world.goesOn(name, limit)
    if (waits) this.#violations.push(`abort: ${name} waits for others although its client has left`)
  }
}

function describeResult ({ status, code = '', detail = '', part, bodies }: Result): string {
  const refused = part === undefined ? '' : `part ${part.index} ${part.code}`
  return [status, code, detail, refused, ...bodies].join(' ')
}

/** Nothing that the history has left behind holds up the next write to an item. */
async function probeQueues (world: World, { services, database }: Fixture): Promise<string[]> {
  const before = world.now
  world.timerChance = 0
  database.reset(world)
  const violations: string[] = []
  for (const [process, { items }] of services.entries()) {
    let open: number = itemIds.length
    // They do not exist any more.
    for (const id of itemIds) items.update(id, { by: 'probe' }).catch(() => {}).finally(() => open--)
    await world.run({ isDone: () => open === 0 })
    if (open > 0 || world.now > before) violations.push(`queue: a write waits in process ${process} after the history`)
  }
  return violations
}
