import type { Connections } from './connection.ts'
import type { Dialect } from './dialect.ts'
import { Wait, type Asker } from './patience.ts'

/** What is to be done with a connection of a pool, and for whom. */
export interface Errand<Client, Result> {
  readonly run: (client: Client) => Promise<Result>
  readonly asker: Asker
  readonly writes: boolean
}

/**
 * Takes a connection, runs the errand, and gives the connection back. It waits as long as the asker does, and stops what nobody waits for.
 * One promise for all of it: every statement comes this way.
 */
export function done<Client, Result> (connections: Connections<Client>, dialect: Dialect, { run, asker, writes }: Errand<Client, Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    let over: (() => Promise<Result>) | undefined
    let left = false
    const wait = new Wait(asker, (error) => {
      left = true
      const outcome = over?.()
      // What writes may be done before it can be stopped, and who asked for it has to know.
      if (writes && outcome !== undefined) return resolve(outcome)
      outcome?.catch(nothing)
      reject(error)
    })
    connections.connect().then((client) => {
      if (left) return connections.release(client, false)
      const answer = run(client)
      over = () => cancelled(connections, client, answer)
      const end = (broken: boolean) => {
        wait.end()
        if (!left) connections.release(client, broken)
      }
      answer.then((result) => {
        end(false)
        resolve(result)
      }, (error: unknown) => {
        end(dialect.fault(error) === 'passing')
        reject(error)
      }).catch(reject)
    }, (error: unknown) => {
      wait.end()
      reject(error)
    }).catch(reject)
  })
}

const nothing = () => {}

/** What comes of it in the end. The connection goes back only once its statement and the cancelling are over, or another's could be hit. */
async function cancelled<Client, Result> ({ connect, release, cancel }: Connections<Client>, client: Client, answer: Promise<Result>): Promise<Result> {
  let running = true
  let cancelling: Promise<unknown> | undefined
  connect().then(async (other) => {
    if (running) cancelling = cancel(client, other).catch(nothing)
    await cancelling
    release(other, false)
  }).catch(nothing)
  await answer.catch(nothing)
  running = false
  await cancelling
  release(client, false)
  return await answer
}
