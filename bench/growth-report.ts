import type { Boot } from './boot.ts'
import type { Started } from './boots.ts'
import type { Depth } from './depth.ts'
import type { Sample } from './measure.ts'
import type { Printer } from './printer.ts'
import { share } from './report.ts'
import type { Sized } from './sizes.ts'
import { ratio, spread } from './statistics.ts'

interface Grid<Row> {
  line: (row: Row) => string
  column: (row: Row) => number
  value: (row: Row) => number
}

/** One column per size, and how the last compares with the first. */
function grid<Row> (
  { title, table }: Printer,
  name: string,
  { rows, line, column, value }: Grid<Row> & { rows: Row[] }
) {
  const columns = [...new Set(rows.map(column))]
  const at = (one: string, other: number) =>
    rows.filter((row) => line(row) === one && column(row) === other).map(value)[0] ?? NaN
  title(name)
  const lines = [...new Set(rows.map(line))].map((one) => {
    const cells = columns.map((other) => at(one, other))
    return [one, ...cells.map((cell) => cell.toFixed(2)), (cells.at(-1)! / cells[0]!).toFixed(2)]
  })
  table([['', ...columns.map((column) => column.toLocaleString('en')), 'last / first'], ...lines])
}

export function printBoots (printer: Printer, started: Started[]) {
  if (started.length === 0) return
  const median = (row: Started, property: keyof Boot) => spread(row.boots.map((boot) => boot[property])).median
  const line = (row: Started) => row.contestant
  const column = (row: Started) => row.collections
  const rows = started
  grid(printer, 'Start, ms, by collections', { rows, line, column, value: (row) => median(row, 'milliseconds') })
  grid(printer, 'Start, ms of CPU, by collections', { rows, line, column, value: (row) => median(row, 'cpu') })
  grid(printer, 'Heap, kB per collection, by collections', {
    rows,
    line,
    column,
    value: (row) => median(row, 'heap') / row.collections / 1000
  })
  const ours = started.filter(({ contestant }) => contestant === 'ours')
  const rivals = [...new Set(started.map(({ contestant }) => contestant))].filter((name) => name !== 'ours')
  if (ours.length === 0 || rivals.length === 0) return
  printer.title('Start of ours over the others, by collections')
  printer.table([
    ['', ...ours.map(({ collections }) => String(collections))],
    ...rivals.map((rival) => [
      `/ ${rival}`,
      ...ours.map((own) => {
        const other = started.find(
          ({ contestant, collections }) => contestant === rival && collections === own.collections
        )!
        return share(
          ratio(
            own.boots.map((boot) => boot.milliseconds),
            other.boots.map((boot) => boot.milliseconds)
          )
        )
      })
    ])
  ])
}

const rates = (samples: Sample[]) => samples.map(({ rate }) => rate)

export function printSizes ({ title, table }: Printer, store: string, sized: Sized[]) {
  const [first] = sized
  if (first === undefined) return
  const names = [...new Set(sized.map(({ contestant }) => contestant))]
  const last = names.at(-1)!
  const others = names.filter((name) => name !== last)
  title(`${last} over ${store}, by the size of an item, 16 connections`)
  table([
    ['scenario', 'bytes', 'turns/s', 'p50 ms', 'CPU us', ...others.map((name) => `/ ${name}`)],
    ...sized
      .filter(({ contestant }) => contestant === last)
      .map(({ scenario, bytes, samples }) => [
        scenario,
        bytes.toLocaleString('en'),
        Math.round(spread(rates(samples)).median).toLocaleString('en'),
        spread(samples.map(({ p50 }) => p50)).median.toFixed(2),
        spread(samples.map(({ cpu }) => cpu)).median.toFixed(0),
        ...others.map((name) =>
          share(
            ratio(
              rates(samples),
              rates(
                sized.find((row) => row.contestant === name && row.scenario === scenario && row.bytes === bytes)!
                  .samples
              )
            )
          )
        )
      ])
  ])
}

/** Round by round: the cost of the last pages against the first, and of the most items against the fewest. */
export function ratios (all: Depth[]) {
  const p50 = ({ samples }: Depth, scenario: string) => samples[scenario]!.map((sample) => sample.p50)
  return [...new Set(all.map(({ contestant, store }) => `${contestant} ${store}`))].map((name) => {
    const own = all.filter(({ contestant, store }) => `${contestant} ${store}` === name)
    const [first, last] = [own[0]!, own.at(-1)!]
    const grown = (scenario: string) => ratio(p50(last, scenario), p50(first, scenario))
    return {
      name,
      items: last.items,
      'last / first pages': ratio(p50(last, 'last pages'), p50(last, 'first pages')),
      ...Object.fromEntries(
        ['first pages', 'get', 'insert'].map((scenario) => [`${scenario}, / ${first.items}`, grown(scenario)])
      ),
      walk: last.walk
    }
  })
}

export function printDepths (printer: Printer, grown: Depth[]) {
  const rows = grown.flatMap(({ contestant, store, items, samples }) =>
    Object.entries(samples).map(([scenario, all]) => ({
      line: `${contestant} ${store} ${scenario}`,
      items,
      p50: spread(all.map(({ p50 }) => p50)).median,
      cpu: spread(all.map(({ cpu }) => cpu)).median
    }))
  )
  if (rows.length === 0) return
  const line = (row: (typeof rows)[number]) => row.line
  const column = (row: (typeof rows)[number]) => row.items
  grid(printer, 'p50, ms, by items', { rows, line, column, value: (row) => row.p50 })
  grid(printer, 'CPU of the server process, us, by items', { rows, line, column, value: (row) => row.cpu })
  printer.title('Ratios of p50, and a walk')
  const all = ratios(grown).map(({ name, items, walk, ...found }) => ({
    '': `${name}, ${items.toLocaleString('en')}`,
    ...Object.fromEntries(Object.entries(found).map(([what, one]) => [what, share(one)])),
    'walk, MB': `${walk.early.toFixed(1)} ${walk.late.toFixed(1)} ${walk.resident.toFixed(0)}`
  }))
  printer.table([Object.keys(all[0]!), ...all.map((row) => Object.values(row))])
  printer.note(
    'Medians of the rounds (and quartiles). The walk is through all pages: megabytes in use in its first quarter and in its last, and resident in the end.'
  )
}
