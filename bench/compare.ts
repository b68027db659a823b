// Compares this checkout with another one in a single run: old and new are driven in turn, and CPU time per request
// and what a request allocates are compared.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { setups } from './contestants.ts'
import { serve } from './databases.ts'
import { isAwake, measure, measureAllocation, type Contender, type Workload } from './measure.ts'
import { text } from './printer.ts'
import { end, launch, launchServer, receive } from './process.ts'
import { share } from './report.ts'
import { commonScenarios, scenarios } from './scenarios.ts'
import { ratio, spread } from './statistics.ts'

/** V8 has compiled most of the code by then. On a slow machine that takes longer than the seconds of the warm-up. */
const warmTurns = 15_000

const usage = `npm run bench:compare -- <checkout> [options]
  <checkout>     another checkout of this repository, with its dependencies installed
  --setup        ours, ${Object.keys(setups).join(' or ')} (ours)
  --against      the setup or contestant of the other checkout (the same)
  --store        memory, sqlite or postgres (memory)
  --scenarios    ${Object.keys(scenarios).join()} (all)
  --launches     processes of each side and scenario (5)
  --rounds       of each launch (4)
  --duration     seconds of each round (0.4)
  --warmup       seconds of each launch (2), and at least ${warmTurns} turns
  --connections  (64)`

const {
  values,
  positionals: [other]
} = parseArgs({
  allowPositionals: true,
  options: {
    setup: { type: 'string', default: 'ours' },
    against: { type: 'string' },
    store: { type: 'string', default: 'memory' },
    scenarios: { type: 'string', default: commonScenarios.join() },
    launches: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '4' },
    duration: { type: 'string', default: '0.4' },
    warmup: { type: 'string', default: '2' },
    connections: { type: 'string', default: '64' }
  }
})

/** A scenario has become slower if the median is below this and the quartiles exclude 1. */
const tolerated = 0.97

async function start (name: 'old' | 'new'): Promise<Contender> {
  const base = name === 'new' ? import.meta.url : pathToFileURL(resolve(other!, 'bench/compare.ts'))
  const setup = name === 'new' ? values.setup : values.against ?? values.setup
  const server = launchServer([setup, values.store, '1000', '0', ''], base)
  const { port } = await receive<{ port: number }>(server)
  return { name: 'ours', server, port }
}

async function compare (scenario: string): Promise<string[]> {
  const cpu: Record<'old' | 'new', number[]> = { old: [], new: [] }
  const bytes: Record<'old' | 'new', number[]> = { old: [], new: [] }
  const workload: Workload = {
    scenario,
    table: 'scenarios',
    connections: Number(values.connections),
    items: 1000,
    seconds: Number(values.duration),
    awake: isAwake(values.store)
  }
  for (let launched = 0; launched < Number(values.launches); launched++) {
    const names = launched % 2 === 0 ? (['old', 'new'] as const) : (['new', 'old'] as const)
    const sides = [
      { name: names[0], contender: await start(names[0]) },
      { name: names[1], contender: await start(names[1]) }
    ]
    for (let part = 0, turns = 0; part < 4 || turns < warmTurns; part++) {
      for (const { contender } of sides) {
        turns += (await measure(driver, contender, { ...workload, seconds: Number(values.warmup) / 4 })).turns / 2
      }
    }
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const { name, contender } of round % 2 === 0 ? sides : sides.toReversed()) {
        const sample = await measure(driver, contender, workload)
        cpu[name].push(sample.cpu)
      }
    }
    for (const { name, contender } of sides) {
      bytes[name].push(await measureAllocation(driver, contender, workload))
      await end(contender.server)
    }
  }
  const compared = ratio(cpu.old, cpu.new)
  const slower = compared.median < tolerated && compared.high < 1
  const [before, after] = [spread(bytes.old).median, spread(bytes.new).median]
  return [scenario, share(compared), slower ? 'slower' : '', toKilobytes(before), toKilobytes(after)]
}

function toKilobytes (bytes: number): string {
  return (bytes / 1000).toFixed(2)
}

if (other === undefined) {
  console.log(usage)
  process.exit(1)
}
const close = await serve([values.store])
const driver = launch('driver.ts', { core: 1 })
const lines: string[][] = []
for (const scenario of values.scenarios.split(',')) {
  lines.push(await compare(scenario))
  console.log(lines.at(-1)!.join('  '))
}
await end(driver)
await close()
text.title(
  `CPU time per request of ${values.setup} over ${values.store}, ${values.against ?? 'old'} / new: above 1 is faster (median and quartiles of ${values.launches} launches)`
)
text.table([['scenario', 'old / new', '', 'kB allocated, old', 'new'], ...lines])
