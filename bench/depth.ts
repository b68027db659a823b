import type { ChildProcess } from 'node:child_process'
import { isAwake, measure, type Contender, type Sample } from './measure.ts'
import { ask, end, launchServer, receive } from './process.ts'
import { depths, lastPages } from './scenarios.ts'
import type { Weight } from './server.ts'

export interface Depth {
  readonly contestant: string
  readonly store: string
  readonly items: number
  /** By scenario, one for each round. */
  readonly samples: Readonly<Record<string, Sample[]>>
  /** The memory of the server while a client walks all pages. */
  readonly walk: Weight
}

interface Plan {
  contestant: string
  store: string
  sizes: string[]
  rounds: number
  seconds: number
}

interface Filled extends Depth {
  readonly contender: Contender
}

/** All sizes run at the same time and alternate in each round, so that a disturbance affects all. */
export async function depth (
  driver: ChildProcess,
  { contestant, store, sizes, rounds, seconds }: Plan
): Promise<Depth[]> {
  const all: Filled[] = []
  const buildWorkload = (scenario: string, items: number) =>
    ({ scenario, table: 'depths', connections: 1, items, seconds, awake: isAwake(store) }) as const
  for (const size of sizes) {
    const server = launchServer([contestant, store, size])
    const contender: Contender = { name: contestant, server, port: (await receive<{ port: number }>(server)).port }
    const items = Number(size)
    // Warm before the measurement; the first request for the last pages walks there.
    for (const scenario of ['first pages', 'get', 'insert']) {
      await measure(driver, contender, buildWorkload(scenario, items))
    }
    await ask(server, { order: 'weigh' })
    await ask(driver, { open: { ...buildWorkload(lastPages, items), contestant, port: contender.port } })
    const walk = await ask<Weight>(server, { order: 'weighed' })
    await measure(driver, contender, buildWorkload(lastPages, items))
    all.push({
      contestant,
      store,
      items,
      samples: Object.fromEntries(Object.keys(depths).map((scenario) => [scenario, []])),
      walk,
      contender
    })
  }
  for (let round = 0; round < rounds; round++) {
    for (const scenario of Object.keys(depths)) {
      for (const { contender, items, samples } of all) {
        samples[scenario]!.push(await measure(driver, contender, buildWorkload(scenario, items)))
      }
    }
  }
  for (const { contender } of all) await end(contender.server)
  return all.map(({ contender, ...found }) => found)
}
