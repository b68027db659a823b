// What grows with the number of collections and of items.
import type { ChildProcess } from 'node:child_process'
import { parseArgs } from 'node:util'
import type { Boot } from './boot.ts'
import { measure, type Contender } from './measure.ts'
import { end, heard, launch } from './process.ts'
import { table } from './report.ts'
import { depths } from './scenarios.ts'
import { spread } from './statistics.ts'

const text = { type: 'string' } as const
const { values } = parseArgs({
  options: {
    contestants: { ...text, default: 'plain,features,ours' },
    collections: { ...text, default: '1,10,200' },
    items: { ...text, default: '1000,100000,1000000' },
    rounds: { ...text, default: '5' },
    duration: { ...text, default: '0.5' },
    store: { ...text, default: 'memory' },
    json: { type: 'boolean', default: false }
  }
})
const rounds = Number(values.rounds)
const seconds = Number(values.duration)

interface Started { contestant: string, collections: number, milliseconds: number, cpu: number, heap: number }
interface Depth { contestant: string, items: number, scenario: string, p50: number, cpu: number }

async function boot (name: string, collections: string): Promise<Boot> {
  const child = launch('boot.ts', { args: [name, values.store, collections], flags: ['--expose-gc'], core: 0 })
  const report = await heard<Boot>(child)
  await end(child)
  return report
}

/** Interleaved: every contestant starts once per round. */
async function boots (names: string[], collections: string): Promise<Started[]> {
  const found = new Map<string, Boot[]>(names.map(name => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const name of names) found.get(name)!.push(await boot(name, collections))
  }
  return [...found].map(([name, all]) => ({
    contestant: name,
    collections: Number(collections),
    milliseconds: spread(all.map(one => one.milliseconds)).median,
    cpu: spread(all.map(one => one.cpu)).median,
    heap: spread(all.map(one => one.heap)).median / Number(collections)
  }))
}

async function sizes (driver: ChildProcess, name: string, items: string): Promise<Depth[]> {
  const server = launch('server.ts', { args: [name, values.store, items], core: 0 })
  const contender: Contender = { name, server, port: (await heard<{ port: number }>(server)).port }
  const found: Depth[] = []
  for (const scenario of Object.keys(depths)) {
    const course = { scenario, table: 'depths', connections: 1, seconds } as const
    await measure(driver, contender, course)
    const samples = []
    for (let round = 0; round < rounds; round++) samples.push(await measure(driver, contender, course))
    found.push({
      contestant: name,
      items: Number(items),
      scenario,
      p50: spread(samples.map(sample => sample.p50)).median,
      cpu: spread(samples.map(sample => sample.cpu)).median
    })
  }
  await end(server)
  return found
}

async function present (wanted: string[]) {
  const names: string[] = []
  for (const name of wanted) {
    try {
      await boot(name, '1')
      names.push(name)
    } catch (error) {
      console.error(`${name} is left out, it does not start: ${error instanceof Error ? error.message : error}`)
    }
  }
  return names
}

interface Grid<Row> { line: (row: Row) => string, column: (row: Row) => number, value: (row: Row) => number }

/** One column per size, and how the last compares with the first. */
function grid<Row> (title: string, rows: Row[], { line, column, value }: Grid<Row>) {
  const columns = [...new Set(rows.map(column))]
  const at = (one: string, other: number) => rows.filter(row => line(row) === one && column(row) === other).map(value)[0] ?? NaN
  console.log(`\n${title}`)
  const lines = [...new Set(rows.map(line))].map(one => {
    const cells = columns.map(other => at(one, other))
    return [one, ...cells.map(cell => cell.toFixed(2)), (cells.at(-1)! / cells[0]!).toFixed(2)]
  })
  table([['', ...columns.map(String), 'last / first'], ...lines])
}

const names = await present(values.contestants.split(','))
const started: Started[] = []
for (const collections of values.collections.split(',')) started.push(...await boots(names, collections))
if (!values.json) {
  const line = (row: Started) => row.contestant
  const column = (row: Started) => row.collections
  grid('start, ms, by collections', started, { line, column, value: row => row.milliseconds })
  grid('start, ms of CPU, by collections', started, { line, column, value: row => row.cpu })
  grid('heap, kB per collection, by collections', started, { line, column, value: row => row.heap / 1000 })
}

const driver = launch('driver.ts', { core: 1 })
const grown: Depth[] = []
for (const name of names) {
  // Only an answer with a Link to its next page can be walked to the last one.
  if (name === 'plain') continue
  for (const items of values.items.split(',')) grown.push(...await sizes(driver, name, items))
}
await end(driver)
if (values.json) {
  console.log(JSON.stringify({ collections: started, items: grown }, undefined, 2))
} else {
  const line = (row: Depth) => `${row.contestant} ${row.scenario}`
  const column = (row: Depth) => row.items
  grid('p50, ms, by items', grown, { line, column, value: row => row.p50 })
  grid('CPU, us, by items', grown, { line, column, value: row => row.cpu })
}
