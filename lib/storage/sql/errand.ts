import { promised, type Callback, type Connections } from './connection.ts'
import type { Dialect } from './dialect.ts'
import { pauseAfter, told } from './faults.ts'
import { Wait, type Asker } from './patience.ts'

/** What is to be done with a connection of a pool, and for whom. */
export interface Errand<Client, Result> {
  readonly run: (client: Client, callback: Callback<Result>) => void
  readonly asker: Asker
  readonly writes: boolean
}

/**
 * Takes a connection, runs the errand, and gives the connection back; again where that can help. It waits as long as the asker does,
 * and stops what nobody waits for. One promise for all of it: every statement comes this way.
 */
export function done<Client, Result> (connections: Connections<Client>, dialect: Dialect, errand: Errand<Client, Result>): Promise<Result> {
  return new Promise((resolve, reject) => new Course(connections, dialect, errand, { resolve, reject }).begin())
}

interface Outcome<Result> {
  resolve (result: Result | Promise<Result>): void
  reject (reason: unknown): void
}

class Course<Client, Result> {
  readonly #connections: Connections<Client>
  readonly #dialect: Dialect
  readonly #errand: Errand<Client, Result>
  readonly #outcome: Outcome<Result>
  readonly #wait: Wait
  #attempts = 0
  /** Whether the asker has. */
  #left = false
  /** That the statement runs on. */
  #client: Client | undefined
  /** Hears of the end of a statement that nobody waits for. */
  #cancelling: Callback<Result> | undefined

  constructor (connections: Connections<Client>, dialect: Dialect, errand: Errand<Client, Result>, outcome: Outcome<Result>) {
    this.#connections = connections
    this.#dialect = dialect
    this.#errand = errand
    this.#outcome = outcome
    this.#wait = new Wait(errand.asker, (error) => this.#leave(error))
  }

  begin (): void {
    if (this.#left) return
    try {
      this.#connections.connect((error, client) => this.#connected(error, client))
    } catch (thrown) {
      this.#failed(thrown)
    }
  }

  #connected (error: unknown, client: Client | undefined): void {
    if (client === undefined) return this.#failed(error)
    if (this.#left) return this.#connections.release(client, false)
    this.#client = client
    try {
      this.#errand.run(client, (error, result) => this.#ended(client, error, result))
    } catch (thrown) {
      this.#ended(client, thrown, undefined)
    }
  }

  #ended (client: Client, error: unknown, result: Result | undefined): void {
    if (this.#cancelling !== undefined) return this.#cancelling(error, result)
    this.#client = undefined
    try {
      this.#connections.release(client, result === undefined && this.#dialect.fault(error) === 'passing')
    } catch (thrown) {
      return this.#failed(thrown)
    }
    if (result === undefined) return this.#failed(error)
    this.#wait.end()
    this.#outcome.resolve(result)
  }

  #failed (error: unknown): void {
    const pause = pauseAfter(this.#dialect, error, this.#attempts++)
    if (pause !== undefined) {
      setTimeout(() => this.begin(), pause)
    } else {
      this.#wait.end()
      this.#outcome.reject(told(this.#dialect, error))
    }
  }

  #leave (error: Error): void {
    this.#left = true
    if (this.#client === undefined) return this.#outcome.reject(error)
    const outcome = cancelled(this.#connections, this.#client, promised<Result>((callback) => { this.#cancelling = callback }))
    // What writes may be done before it can be stopped, and who asked for it has to know.
    if (this.#errand.writes) {
      this.#outcome.resolve(outcome.catch((error: unknown) => { throw told(this.#dialect, error) }))
    } else {
      outcome.catch(nothing)
      this.#outcome.reject(error)
    }
  }
}

const nothing = () => {}

/** What comes of it in the end. The connection goes back only once its statement and the cancelling are over, or another's could be hit. */
async function cancelled<Client, Result> (connections: Connections<Client>, client: Client, answer: Promise<Result>): Promise<Result> {
  let running = true
  let cancelling: Promise<unknown> | undefined
  promised<Client>((callback) => connections.connect(callback)).then(async (other) => {
    if (running) cancelling = promised((callback) => connections.cancel(client, other, callback)).catch(nothing)
    await cancelling
    connections.release(other, false)
  }).catch(nothing)
  await answer.catch(nothing)
  running = false
  await cancelling
  connections.release(client, false)
  return await answer
}
