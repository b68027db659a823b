import { cpus } from 'node:os'
import type { Workload, Sample } from './measure.ts'
import { text, type Printer } from './printer.ts'
import { pinned } from './process.ts'
import { scenarios } from './scenarios.ts'
import type { Settings } from './settings.ts'
import { ratio, spread, type Spread } from './statistics.ts'

interface Row {
  rate: Spread
  p50: number
  p99: number
  cpu: Spread
  allocated: number
  answer: number
  server: number
  driver: number
  /** By contestant: throughput over theirs, and CPU time per turn over theirs. */
  of: Record<string, { rate: Spread; cpu: Spread }>
}

export interface Result {
  scenario: string
  connections: number
  rows: Record<string, Row>
}

export function machine ({ store, handWritten, launches, rounds, duration }: Settings) {
  return {
    node: `Node ${process.version}`,
    cpu: `${cpus().length} x ${cpus()[0]?.model ?? process.arch}`,
    cores: pinned ? 'server and driver pinned to a core each' : 'not pinned',
    store: `store ${store}${handWritten ? ', by hand' : ''}`,
    rounds: `${launches} launches of ${rounds} rounds of ${duration} s`
  }
}

export function result (
  { scenario, connections }: Workload,
  samples: Map<string, Sample[]>,
  allocated: Map<string, number>
): Result {
  const rows: Result['rows'] = {}
  for (const [name, own] of samples) {
    const of: Row['of'] = {}
    for (const [other, theirs] of samples) {
      if (other === name) continue
      of[other] = {
        rate: ratio(
          own.map((sample) => sample.rate),
          theirs.map((sample) => sample.rate)
        ),
        cpu: ratio(
          own.map((sample) => sample.cpu),
          theirs.map((sample) => sample.cpu)
        )
      }
    }
    const median = (property: keyof Sample) => spread(own.map((sample) => sample[property])).median
    rows[name] = {
      rate: spread(own.map((sample) => sample.rate)),
      p50: median('p50'),
      p99: median('p99'),
      cpu: spread(own.map((sample) => sample.cpu)),
      allocated: allocated.get(name) ?? NaN,
      answer: median('answer'),
      server: median('server'),
      driver: median('driver'),
      of
    }
  }
  return { scenario, connections, rows }
}

const whole = (value: number) => Math.round(value).toLocaleString('en')
export const share = ({ median, low, high }: Spread) => `${median.toFixed(2)} (${low.toFixed(2)}-${high.toFixed(2)})`

const invert = ({ median, low, high }: Spread): Spread => ({ median: 1 / median, low: 1 / high, high: 1 / low })

export function print ({ scenario, connections, rows }: Result) {
  text.title(`${scenario} · ${connections} connection${connections === 1 ? '' : 's'}`)
  const names = Object.keys(rows)
  text.table([
    [
      '',
      'turns/s',
      '(quartiles)',
      'p50 ms',
      'p99 ms',
      'CPU us',
      'heap B',
      'answer B',
      'server',
      'driver',
      ...names.map((name) => `of ${name}`)
    ],
    ...Object.entries(rows).map(([name, row]) => [
      name,
      whole(row.rate.median),
      `(${whole(row.rate.low)}-${whole(row.rate.high)})`,
      row.p50.toFixed(3),
      row.p99.toFixed(3),
      row.cpu.median.toFixed(1),
      whole(row.allocated),
      whole(row.answer),
      row.server.toFixed(2),
      row.driver.toFixed(2),
      ...names.map((other) => (other === name ? '' : share(row.of[other]!.rate)))
    ])
  ])
}

/**
 * Of the last contestant: its own figures, and its ratio to each other one by throughput and, less affected by
 * a busy machine, by CPU time.
 */
export function summary (results: Result[], wanted: string[], { title, note, table }: Printer) {
  const names = [...new Set(results.flatMap(({ rows }) => Object.keys(rows)))]
  const last = wanted.findLast((name) => names.includes(name))
  if (last === undefined) return
  const others = wanted.filter((name) => name !== last && names.includes(name))
  title(`${last}, and over the others`)
  table([
    [
      'scenario',
      'connections',
      'turns/s',
      'p50 ms',
      'p99 ms',
      'CPU us',
      'heap B',
      ...others.flatMap((name) => [`/ ${name}`, 'CPU']),
      'over its own'
    ],
    ...results.map(({ scenario, connections, rows }) => {
      const against = scenarios[scenario]?.against
      const base = results.find((other) => other.scenario === against && other.connections === connections)?.rows[last]
      const own = rows[last]
      return [
        scenario,
        String(connections),
        ...(own === undefined
          ? ['-', '-', '-', '-', '-']
          : [
              whole(own.rate.median),
              own.p50.toFixed(3),
              own.p99.toFixed(3),
              own.cpu.median.toFixed(1),
              whole(own.allocated)
            ]),
        ...others.flatMap((name) => {
          const of = own?.of[name]
          return of === undefined ? ['-', '-'] : [share(of.rate), share(invert(of.cpu))]
        }),
        base === undefined || own === undefined ? '' : `${(own.rate.median / base.rate.median).toFixed(2)} ${against}`
      ]
    })
  ])
  note(
    '"/ name" is its throughput over theirs, the median of the rounds (and quartiles); "CPU" is their CPU time of a turn over its own: above 1 is better in both. "-" is what a contestant has nothing for.'
  )
}
