import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'
import { Random } from './random.ts'

// The world of one history: a clock that only the scheduler moves, and steps that wait until the scheduler chooses
// them. Everything else runs to its end between two choices.

interface Timer {
  readonly owner: string | undefined
  readonly delay: number
  readonly at: number
  readonly run: () => void
}

interface Step {
  readonly name: string
  /** Steps of one owner have one priority. */
  readonly owner: string
  readonly run: () => void
}

interface RunOptions {
  readonly isDone: () => boolean
  /** Whether to wait if nothing can be chosen: what runs outside of this world may add steps. */
  readonly waits?: boolean
}

const epoch = Date.UTC(2026, 0, 1)
/** No history needs as many. One that does never ends. */
const maxChoices = 20_000
/** Before anything replaces it. */
const nextTurn = setImmediate

/** The name of the attempt on whose behalf code runs. */
export const running = new AsyncLocalStorage<string>()

export class World {
  readonly random: Random
  readonly history: string[] = []
  now = epoch
  /** How probable it is that time goes on although something else could happen. */
  timerChance = 0
  /** How many immediates of the app have not run yet. */
  immediates = 0
  #choices = 0
  readonly #steps: Step[] = []
  readonly #timers = new Map<object, Timer>()
  readonly #waitsForChoice: Array<() => void> = []
  readonly #priorities = new Map<string, number>()
  readonly #usesPriorities: boolean

  constructor (seed: number) {
    this.random = new Random(seed)
    // Some histories choose at random. Others run one owner as long as possible, and change rarely: probabilistic
    // concurrency testing, Burckhardt et al., 2010.
    this.#usesPriorities = this.random.chance(0.5)
  }

  log (line: string): void {
    this.history.push(`${String(this.now - epoch).padStart(6)} ${line}`)
  }

  /** Resolves when the scheduler chooses it. */
  step (owner: string, name: string): Promise<void> {
    return new Promise((resolve) => this.#steps.push({ owner, name, run: resolve }))
  }

  /** Resolves after so many steps of others. */
  async skip (owner: string, steps: number): Promise<void> {
    for (let step = 0; step < steps; step++) await this.step(owner, '.')
  }

  setTimer (run: () => void, milliseconds = 0): object {
    const timer = { ref: () => timer, unref: () => timer, hasRef: () => true, refresh: () => timer }
    const delay = Math.max(1, milliseconds)
    const context = new AsyncResource('Timer')
    const runInContext = () => context.runInAsyncScope(run)
    this.#timers.set(timer, { owner: running.getStore(), delay, at: this.now + delay, run: runInContext })
    return timer
  }

  clearTimer (timer: object | undefined): void {
    if (timer !== undefined) this.#timers.delete(timer)
  }

  sleep (milliseconds: number): Promise<void> {
    return new Promise((resolve) => this.setTimer(resolve, milliseconds))
  }

  /** Resolves when nothing happens any more without another choice. */
  settled (): Promise<void> {
    return new Promise((resolve) => this.#waitsForChoice.push(resolve))
  }

  /** Whether an attempt goes on by itself: it has a step, or a timer that is shorter than this. */
  goesOn (name: string, delay: number): boolean {
    return this.#steps.some(({ owner }) => owner === name) ||
      [...this.#timers.values()].some((timer) => timer.owner === name && timer.delay < delay)
  }

  /** Chooses until it is done, or nothing is left. */
  async run ({ isDone, waits = false }: RunOptions): Promise<void> {
    for (;;) {
      await this.#settle()
      for (const resolve of this.#waitsForChoice.splice(0)) {
        resolve()
        await this.#settle()
      }
      if (isDone()) return
      const isIdle = this.#steps.length === 0 && this.#timers.size === 0
      if (isIdle && waits) continue
      if (isIdle || this.#choices > maxChoices) return
      this.#choices++
      if (this.#shouldFireTimer()) this.#fireTimer()
      else this.#runStep()
    }
  }

  #shouldFireTimer (): boolean {
    if (this.#steps.length === 0) return true
    return this.#timers.size > 0 && this.random.chance(this.timerChance)
  }

  #fireTimer (): void {
    const earliest = [...this.#timers].reduce((first, other) => other[1].at < first[1].at ? other : first)
    const [timer, { at, run }] = earliest
    this.#timers.delete(timer)
    this.now = Math.max(this.now, at)
    run()
  }

  #runStep (): void {
    const index = this.#usesPriorities ? this.#findByPriority() : this.random.below(this.#steps.length)
    const [step] = this.#steps.splice(index, 1)
    this.log(`  ${step!.name}`)
    step!.run()
  }

  #findByPriority (): number {
    const candidate = this.#steps[this.random.below(this.#steps.length)]!
    if (this.random.chance(0.05)) this.#priorities.set(candidate.owner, this.random.next() / 1000)
    const priorities = this.#steps.map(({ owner }) => this.#getPriority(owner))
    return priorities.indexOf(Math.max(...priorities))
  }

  #getPriority (owner: string): number {
    const known = this.#priorities.get(owner)
    if (known !== undefined) return known
    const priority = this.random.next()
    this.#priorities.set(owner, priority)
    return priority
  }

  /** Runs microtasks, next ticks and immediates until none is left. */
  async #settle (): Promise<void> {
    do await new Promise((resolve) => nextTurn(resolve))
    while (this.immediates > 0)
  }
}
