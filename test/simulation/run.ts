import { createHash } from 'node:crypto'
import { parseArgs } from 'node:util'
import { compareHidden, runHistory } from './history.ts'
import type { History } from './history.ts'
import { seeds } from './seeds.ts'

// npm run simulate -- [--cpu 60] [--from 1] [--count 1000] [--stop 5] [--shrink] [--print] [--backward]
// Runs histories, and prints the violations that they have. README.md says what the options are.

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: '1' },
    count: { type: 'string', default: '1000000000' },
    cpu: { type: 'string', default: '60' },
    stop: { type: 'string', default: '5' },
    known: { type: 'boolean', default: false },
    backward: { type: 'boolean', default: false },
    print: { type: 'boolean', default: false },
    shrink: { type: 'boolean', default: false }
  }
})

const from = Number(values.from)
const count = values.known ? seeds.length : Number(values.count)
const maxSeconds = Number(values.cpu)
const maxFailures = Number(values.stop)

const begin = process.cpuUsage()
function getCpuSeconds (): number {
  const { user, system } = process.cpuUsage(begin)
  return (user + system) / 1_000_000
}

function chooseSeed (index: number): number {
  if (values.known) return seeds[index]!.seed
  return values.backward ? from + count - 1 - index : from + index
}

/** What a violation is about. */
const getKind = (violation: string): string => violation.slice(0, violation.indexOf(':'))

interface Shorter {
  readonly history: History
  readonly schedule: number
}

/** Leaves out operations as long as the history still has a violation of the same kind. */
async function shrink (failed: History): Promise<Shorter> {
  let shortest: Shorter = { history: failed, schedule: failed.seed }
  for (let shorter: Shorter | undefined = shortest; shorter !== undefined;) {
    shortest = shorter
    shorter = await findShorter(failed, shortest)
  }
  return shortest
}

async function findShorter (failed: History, { history, schedule }: Shorter): Promise<Shorter | undefined> {
  const kinds = new Set(failed.violations.map(getKind))
  // Without one operation, the same order may no longer lead to the violation.
  const schedules = [schedule, ...Array.from({ length: 29 }, (_, index) => failed.seed * 1000 + index + 1)]
  for (const { name: left } of history.operations) {
    const names = new Set(history.operations.map(({ name }) => name).filter((name) => name !== left))
    for (const order of schedules) {
      const keeps = ({ name }: { name: string }) => names.has(name)
      const shorter = await runHistory(failed.seed, { keeps, schedule: order })
      if (shorter.violations.some((text) => kinds.has(getKind(text)))) return { history: shorter, schedule: order }
    }
  }
  return undefined
}

async function report (history: History): Promise<void> {
  const { seed, config, violations, operations, lines } = history
  console.log(`seed ${seed} ${JSON.stringify(config)}, after ${getCpuSeconds().toFixed(1)} s of CPU`)
  for (const violation of violations.slice(0, 6)) console.log(`  ${violation}`)
  if (values.print) console.log(lines.join('\n'))
  if (!values.shrink) return
  const { history: shortest, schedule } = await shrink(history)
  console.log(`  shorter: ${shortest.operations.length} of ${operations.length} operations, schedule ${schedule}`)
  console.log([...shortest.lines, ...shortest.violations].join('\n'))
}

const digest = createHash('sha256')
let histories = 0
let steps = 0
let failures = 0
while (histories < count && getCpuSeconds() < maxSeconds && failures < maxFailures) {
  const seed = chooseSeed(histories)
  const history = await runHistory(seed)
  histories++
  steps += history.lines.length
  digest.update(`${history.lines.join('\n')}\n`)
  const found = [history, ...seed % 10 === 0 ? [await compareHidden(seed)] : []]
  for (const failed of found.filter(({ violations }) => violations.length > 0)) {
    failures++
    await report(failed)
  }
}
const seconds = getCpuSeconds()
console.log(`${histories} histories from seed ${from}, ${steps} steps, ${seconds.toFixed(1)} s of CPU, ` +
  `${(histories / seconds).toFixed(0)} histories for each, digest ${digest.digest('hex').slice(0, 12)}, ` +
  `${failures} with violations`)
process.exitCode = failures > 0 ? 1 : 0
