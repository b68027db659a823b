// What grows with the number of collections and of items.
import { parseArgs } from 'node:util'
import type { Boot } from './boot.ts'
import { serve } from './databases.ts'
import { depth, type Depth } from './depth.ts'
import { end, heard, launch } from './process.ts'
import { share, table } from './report.ts'
import { ratio, spread } from './statistics.ts'
import { storages } from './storages.ts'

const text = { type: 'string' } as const
const flag = { type: 'boolean', default: false } as const
const { values } = parseArgs({
  options: {
    contestants: { ...text, default: 'plain,features,ours' },
    collections: { ...text, default: '1,10,200' },
    items: { ...text, default: '1000,100000,1000000' },
    rounds: { ...text, default: '5' },
    duration: { ...text, default: '0.5' },
    store: { ...text, default: 'memory,sqlite,postgres' },
    json: flag,
    help: flag
  }
})
const usage = `npm run bench:growth -- [--json]
  --contestants ${values.contestants}
  --collections ${values.collections} (of which the time to start and the heap are measured; "" for none)
  --items       ${values.items} (how many each collection is filled with)
  --store       ${values.store} (of ${Object.keys(storages).join()})
  --rounds      ${values.rounds}
  --duration    ${values.duration} (seconds per scenario, size and round)`

const rounds = Number(values.rounds)
const listed = (option: string) => option.split(',').filter(part => part !== '')

interface Started { contestant: string, collections: number, milliseconds: number, cpu: number, heap: number }

async function boot (name: string, collections: string): Promise<Boot> {
  const child = launch('boot.ts', { args: [name, 'memory', collections], flags: ['--expose-gc'], core: 0 })
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

/** Round by round, in one run: what the last page costs over the first, and the most items over the fewest. */
function ratios (all: Depth[]) {
  const p50 = ({ samples }: Depth, scenario: string) => samples[scenario]!.map(sample => sample.p50)
  const found = [...new Set(all.map(({ contestant, store }) => `${contestant} ${store}`))].map(name => {
    const own = all.filter(({ contestant, store }) => `${contestant} ${store}` === name)
    const [first, last] = [own[0]!, own.at(-1)!]
    const grown = (scenario: string) => ratio(p50(last, scenario), p50(first, scenario))
    return {
      name,
      items: last.items,
      'last page / page 1': ratio(p50(last, 'last page'), p50(last, 'page 1')),
      ...Object.fromEntries(['page 1', 'get', 'insert'].map(scenario => [`${scenario}, / ${first.items}`, grown(scenario)])),
      walk: last.walk
    }
  })
  return found
}

if (values.help) {
  console.log(usage)
} else {
  const stores = listed(values.store)
  for (const store of stores) if (!Object.hasOwn(storages, store)) throw new Error(`${store} is none of ${Object.keys(storages).join()}`)
  const names = await present(listed(values.contestants))
  const started: Started[] = []
  for (const collections of listed(values.collections)) started.push(...await boots(names, collections))
  if (!values.json && started.length > 0) {
    const line = (row: Started) => row.contestant
    const column = (row: Started) => row.collections
    grid('start, ms, by collections', started, { line, column, value: row => row.milliseconds })
    grid('start, ms of CPU, by collections', started, { line, column, value: row => row.cpu })
    grid('heap, kB per collection, by collections', started, { line, column, value: row => row.heap / 1000 })
  }

  const close = await serve(stores)
  const driver = launch('driver.ts', { core: 1 })
  const grown: Depth[] = []
  for (const store of stores) {
    // Only an answer with a Link to its next page can be walked to the last one.
    for (const contestant of names.filter(name => name !== 'plain')) {
      grown.push(...await depth(driver, { contestant, store, sizes: listed(values.items), rounds, seconds: Number(values.duration) }))
    }
  }
  await end(driver)
  await close()
  if (values.json) {
    console.log(JSON.stringify({ collections: started, items: grown, ratios: ratios(grown) }, undefined, 2))
  } else {
    const rows = grown.flatMap(({ contestant, store, items, samples }) => Object.entries(samples).map(([scenario, all]) => ({
      line: `${contestant} ${store} ${scenario}`, items, p50: spread(all.map(({ p50 }) => p50)).median, cpu: spread(all.map(({ cpu }) => cpu)).median
    })))
    const line = (row: typeof rows[number]) => row.line
    const column = (row: typeof rows[number]) => row.items
    grid('p50, ms, by items', rows, { line, column, value: row => row.p50 })
    grid('CPU of the server process, us, by items', rows, { line, column, value: row => row.cpu })
    console.log('\nratios of p50 (quartiles), and megabytes while all pages are walked: in use in the first quarter and in the last, resident in the end')
    const all = ratios(grown).map(({ name, items, walk, ...found }) => ({ '': `${name}, ${items}`, ...Object.fromEntries(Object.entries(found).map(([what, one]) => [what, share(one)])), 'walk, MB': `${walk.early.toFixed(1)} ${walk.late.toFixed(1)} ${walk.resident.toFixed(0)}` }))
    if (all[0] !== undefined) table([Object.keys(all[0]), ...all.map(row => Object.values(row))])
  }
}
