import t from 'tap'
import { conformance } from '../../lib/storage/conformance.ts'
import type { Open, Thing } from '../../lib/storage/conformance.ts'
import type { Storage } from '../../lib/storage/contract.ts'
import { Database } from './database.ts'
import type { Isolation } from './locks.ts'
import { World } from './world.ts'

// The simulated database keeps the rules of the contract, in whatever order the scheduler runs the statements.

interface Kind {
  readonly isolation: Isolation
  readonly processes: 1 | 2
}

const kinds: readonly Kind[] = [
  { isolation: 'locks', processes: 1 },
  { isolation: 'locks', processes: 2 },
  { isolation: 'optimistic', processes: 1 },
  { isolation: 'optimistic', processes: 2 },
  { isolation: 'serializable', processes: 1 },
  { isolation: 'serializable', processes: 2 }
]

/** The calls of two processes by turns. Transactions are those of the first one. */
function alternate<Item> (one: Storage<Item>, other: Storage<Item>): Storage<Item> {
  let calls = 0
  const next = () => calls++ % 2 === 0 ? other : one
  return {
    ...one,
    list: (query, context) => next().list(query, context),
    find: (id, context) => next().find(id, context),
    insert: (draft, context) => next().insert(draft, context),
    replace: (id, item, expected, context) => next().replace(id, item, expected, context),
    remove: (id, expected, context) => next().remove(id, expected, context)
  }
}

/** The databases of one test, which has another order of statements than the others. */
class Fixture {
  readonly #world: World
  readonly #database: Database
  readonly #processes = [{}, {}] as const
  readonly #kind: Kind

  constructor (seed: number, kind: Kind) {
    this.#kind = kind
    this.#world = new World(seed)
    this.#database = new Database(this.#world)
    this.#database.reset(this.#world, kind)
  }

  readonly open: Open = (shape) => {
    const [first, second] = this.#processes.map((identity) => this.#database.createAdapter(identity)<Thing>(shape))
    if (this.#kind.processes === 1) return first!
    const both = alternate(first!, second!)
    this.#database.tableOf.set(both, this.#database.tableOf.get(first!)!)
    return both
  }

  /** Runs the body, and returns what has not ended then. */
  async run (body: () => Promise<void>): Promise<string[]> {
    let isDone = false
    const result = body().finally(() => { isDone = true })
    await Promise.all([result, this.#world.run({ isDone: () => isDone, waits: true })])
    // What nothing waits for any more.
    await this.#world.run({ isDone: () => false })
    return this.#database.leftovers.filter((text) => !text.includes('claimed'))
  }
}

const isQuick = process.env.TESTS === 'quick'

for (const kind of isQuick ? kinds.slice(0, 1) : kinds) {
  t.test(`the simulated database passes the conformance suite: ${JSON.stringify(kind)}`, async (t) => {
    const cases = new Map<string, () => Promise<void>>()
    let fixture: Fixture
    conformance((title, _options, body) => cases.set(title, body), (shape, beside) => fixture.open(shape, beside))
    let seed = 0
    for (const [title, body] of cases) {
      fixture = new Fixture(++seed, kind)
      const left = await fixture.run(body).catch((error: unknown) => [String(error)])
      if (left.length > 0) t.fail(`${title}: ${left.join()}`)
    }
    t.ok(cases.size > 100, `${cases.size} rules`)
  })
}
