// Compares a list of articles, with author and 5 comments each, with the same statements, hand-written with the driver.
import { parseArgs } from 'node:util'
import { relatedContestants } from './contestants.ts'
import { serve } from './databases.ts'
import { isAwake, measure, type Contender, type Workload, writeProfile } from './measure.ts'
import { text } from './printer.ts'
import { end, launch, launchServer, receive } from './process.ts'
import { share } from './report.ts'
import { relatedList } from './scenarios.ts'
import { ratio, spread } from './statistics.ts'

const { values } = parseArgs({
  options: {
    stores: { type: 'string', default: 'sqlite,postgres' },
    launches: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '4' },
    duration: { type: 'string', default: '0.5' },
    warmup: { type: 'string', default: '3' },
    connections: { type: 'string', default: '64' },
    profile: { type: 'string' }
  }
})
const [ours] = relatedContestants

/** Each takes more than a millisecond. V8 has compiled most of the code by then. */
const warmTurns = 3000

async function start (name: string, store: string): Promise<Contender> {
  const server = launchServer([name, store, '1000', '0', ''])
  const { port } = await receive<{ port: number }>(server)
  return { name, server, port }
}

async function compare (store: string): Promise<string[][]> {
  const cpu: Record<string, number[]> = Object.fromEntries(relatedContestants.map((name) => [name, []]))
  const rate: Record<string, number[]> = Object.fromEntries(relatedContestants.map((name) => [name, []]))
  const workload: Workload = {
    scenario: relatedList,
    table: 'scenarios',
    connections: Number(values.connections),
    items: 1000,
    seconds: Number(values.duration),
    awake: isAwake(store)
  }
  for (let launched = 0; launched < Number(values.launches); launched++) {
    const sides: Contender[] = []
    for (const name of launched % 2 === 0 ? relatedContestants : relatedContestants.toReversed()) {
      sides.push(await start(name, store))
    }
    for (let part = 0, turns = 0; part < 4 || turns < warmTurns; part++) {
      for (const side of sides) {
        const warm = await measure(driver, side, { ...workload, seconds: Number(values.warmup) / 4 })
        turns += warm.turns / sides.length
      }
    }
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
        const sample = await measure(driver, side, workload)
        cpu[side.name]!.push(sample.cpu)
        rate[side.name]!.push(sample.rate)
      }
    }
    if (values.profile !== undefined) {
      for (const side of sides) {
        const file = `${values.profile}/${side.name.replaceAll(' ', '-')}-${store}.cpuprofile`
        await writeProfile(driver, side, { file, workload: { ...workload, seconds: 3 } })
      }
    }
    for (const { server } of sides) await end(server)
  }
  return relatedContestants.map((name) => [
    store,
    name,
    spread(cpu[name]!).median.toFixed(0),
    share(ratio(cpu[name]!, cpu[ours]!)),
    share(ratio(rate[ours]!, rate[name]!))
  ])
}

const driver = launch('driver.ts', { core: 1 })
const close = await serve(values.stores.split(','))
const lines: string[][] = []
for (const store of values.stores.split(',')) lines.push(...await compare(store))
await end(driver)
await close()
text.title('20 articles with author and 5 comments each, compared with the library: above 1, the library is faster')
text.table([['storage', 'contestant', 'CPU, us', 'CPU / library', 'rate, library / it'], ...lines])
