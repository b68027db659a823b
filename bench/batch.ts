// Compares a batch of 10 creates with 10 single POSTs, in turn, on one server.
import { parseArgs } from 'node:util'
import { serve } from './databases.ts'
import { isAwake, measure, type Contender, type Sample } from './measure.ts'
import { text } from './printer.ts'
import { end, launch, launchServer, receive } from './process.ts'
import { batched, single } from './scenarios.ts'
import { ratio, spread, type Spread } from './statistics.ts'

const { values } = parseArgs({
  options: {
    stores: { type: 'string', default: 'memory,sqlite,postgres' },
    launches: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '4' },
    duration: { type: 'string', default: '0.5' },
    warmup: { type: 'string', default: '2' }
  }
})

const driver = launch('driver.ts', { core: 1 })
const close = await serve(values.stores.split(','))
const lines: string[][] = []
for (const store of values.stores.split(',')) {
  for (const connections of [1, 64]) {
    lines.push(await compare(store, connections))
    console.log(lines.at(-1)!.join('  '))
  }
}
await end(driver)
await close()
text.title('A batch of 10 creates against 10 POSTs: CPU time of the server and time of the client for 10 items')
text.table([
  ['storage', 'connections', '10 POSTs, us', 'a batch, us', 'CPU, POSTs / batch', 'rate, batch / POSTs'],
  ...lines
])

async function compare (store: string, connections: number): Promise<string[]> {
  const samples: Record<string, Sample[]> = { [single]: [], [batched]: [] }
  for (let launched = 0; launched < Number(values.launches); launched++) {
    const server = launchServer(['batch', store, '1000', '0', ''])
    const { port } = await receive<{ port: number }>(server)
    const contender: Contender = { name: 'ours', server, port }
    const run = (scenario: string, seconds: number): Promise<Sample> => measure(driver, contender, {
      scenario,
      table: 'scenarios',
      connections,
      items: 1000,
      seconds,
      awake: isAwake(store)
    })
    for (let part = 0; part < 4; part++) {
      for (const scenario of [single, batched]) await run(scenario, Number(values.warmup) / 4)
    }
    for (let round = 0; round < Number(values.rounds); round++) {
      const order = round % 2 === 0 ? [single, batched] : [batched, single]
      for (const scenario of order) samples[scenario]!.push(await run(scenario, Number(values.duration)))
    }
    await end(server)
  }
  const get = (scenario: string, key: 'cpu' | 'rate') => samples[scenario]!.map((sample) => sample[key])
  return [
    store,
    String(connections),
    spread(get(single, 'cpu')).median.toFixed(0),
    spread(get(batched, 'cpu')).median.toFixed(0),
    format(ratio(get(single, 'cpu'), get(batched, 'cpu'))),
    format(ratio(get(batched, 'rate'), get(single, 'rate')))
  ]
}

function format ({ median, low, high }: Spread): string {
  return `${median.toFixed(2)} (${low.toFixed(2)}-${high.toFixed(2)})`
}
