import type { ChildProcess } from 'node:child_process'
import { isAwake, measure, type Contender, type Sample } from './measure.ts'
import { end, launchServer, receive } from './process.ts'

export interface Sized {
  readonly contestant: string
  readonly scenario: string
  /** Of the JSON of one item. */
  readonly bytes: number
  readonly samples: Sample[]
}

interface Plan {
  contestants: string[]
  store: string
  bytes: number
  rounds: number
  seconds: number
}

const items = 1000

/** Contestants with items of one size, which take turns within each round. */
export async function sizes (
  driver: ChildProcess,
  { contestants, store, bytes, rounds, seconds }: Plan
): Promise<Sized[]> {
  const contenders: Contender[] = []
  for (const name of contestants) {
    const server = launchServer([name, store, String(items), String(bytes)])
    contenders.push({ name, server, port: (await receive<{ port: number }>(server)).port })
  }
  const found: Sized[] = []
  for (const scenario of ['get', 'list', 'create']) {
    const workload = {
      scenario,
      table: 'scenarios',
      connections: 16,
      items,
      bytes,
      seconds,
      awake: isAwake(store)
    } as const
    const all = contenders.map((contender) => ({ contender, samples: new Array<Sample>() }))
    for (const { contender } of all) await measure(driver, contender, workload)
    for (let round = 0; round < rounds; round++) {
      for (const { contender, samples } of all) samples.push(await measure(driver, contender, workload))
    }
    found.push(...all.map(({ contender, samples }) => ({ contestant: contender.name, scenario, bytes, samples })))
  }
  for (const { server } of contenders) await end(server)
  return found
}
