// The server process: one contestant, one filled collection, and a report of its usage.
import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { GCProfiler, getHeapStatistics } from 'node:v8'
import type { AddressInfo } from 'node:net'
import { relatedContestants, start } from './contestants.ts'
import { peers, startPeer } from './peers.ts'
import { spread } from './statistics.ts'
import { fill, reset, storages } from './storages.ts'
import { padding } from './user.ts'

export interface Order {
  order: string
  file?: string
}
export interface Usage {
  microseconds: number
}
export interface Allocation {
  bytes: number
}
/**
 * Megabytes in use after a collection, in the first and in the last quarter of the time; and the resident memory of
 * the process at the end.
 */
export interface Weight {
  early: number
  late: number
  resident: number
}

const [name = '', kind = '', count = '1000', bytes = '0', handWritten = ''] = process.argv.slice(2)
let empty = async () => {}
let profiler = new GCProfiler()
let used = 0
const session = new Session()
let weighing: NodeJS.Timeout | undefined
let weights: number[] = []

/** Collects garbage first, because the heap would include what V8 has not collected yet. */
function weigh () {
  globalThis.gc!()
  const { heapUsed, external } = process.memoryUsage()
  weights.push((heapUsed + external) / 1e6)
  weighing = setTimeout(weigh, 1000)
}

function getWeight (): Weight {
  clearTimeout(weighing)
  weigh()
  clearTimeout(weighing)
  const quarter = Math.ceil(weights.length / 4)
  const median = (values: number[]) => spread(values).median
  return {
    early: median(weights.slice(0, quarter)),
    late: median(weights.slice(-quarter)),
    resident: process.memoryUsage.rss() / 1e6
  }
}

/** Sums the heap before each collection minus the heap after the previous one: all allocated bytes. */
function sumAllocations () {
  const { statistics } = profiler.stop()
  let bytes = 0
  let left = used
  for (const { beforeGC, afterGC } of statistics) {
    bytes += Math.max(0, beforeGC.heapStatistics.usedHeapSize - left)
    left = afterGC.heapStatistics.usedHeapSize
  }
  return bytes + Math.max(0, getHeapStatistics().used_heap_size - left)
}

const answers: Record<string, (file: string) => unknown> = {
  usage () {
    const { user, system } = process.cpuUsage()
    return { microseconds: user + system } satisfies Usage
  },
  count () {
    profiler = new GCProfiler()
    profiler.start()
    used = getHeapStatistics().used_heap_size
    return 'counting'
  },
  counted: () => ({ bytes: sumAllocations() }) satisfies Allocation,
  weigh () {
    weights = []
    weigh()
    return 'weighing'
  },
  weighed: getWeight,
  async profile () {
    session.connect()
    await session.post('Profiler.enable')
    await session.post('Profiler.start')
    return 'profiling'
  },
  async profiled (file) {
    const { profile } = await session.post('Profiler.stop')
    writeFileSync(file, JSON.stringify(profile))
    session.disconnect()
    return 'profiled'
  },
  async reset () {
    await empty()
    return 'reset'
  }
}

async function runPeer () {
  const peer = await startPeer(name, kind, Number(count))
  empty = peer.reset
  return peer.server
}

async function runRelated () {
  const { startRelated } = await import('./related-server.ts')
  return startRelated(name, kind)
}

async function runContestant () {
  const opened = await storages[kind]!()
  let filled: Promise<void> | undefined
  const server = await start(name, (shape) => {
    const adapter = handWritten !== '' && name !== 'ours' ? (opened.handWritten ?? opened.adapter) : opened.adapter
    const storage = adapter(shape)
    filled = opened.fill === undefined || bytes !== '0' ? fillOneByOne() : opened.fill(shape, Number(count))
    async function fillOneByOne () {
      await opened.fill?.(shape, 0)
      await fill(storage, Number(count), padding(Number(bytes)))
    }
    empty = () => reset(storage, Number(count))
    return storage
  })
  await filled
  return server
}

process.on('message', async ({ order, file = '' }: Order) => process.send!(await answers[order]!(file)))
process.on('disconnect', () => process.exit())

try {
  const server = relatedContestants.some((one) => one === name)
    ? await runRelated()
    : Object.hasOwn(peers, name) ? await runPeer() : await runContestant()
  const { port } = server.address() as AddressInfo // a TCP server's address is never a string
  // V8 would do it at a random time in the first second or later, and code compiled afterward is a seventh slower.
  // With it, all contestants are measured under the same conditions, those of a server that has been running for a
  // while.
  globalThis.gc!()
  process.send!({ port })
} catch (error) {
  process.send!({ error: error instanceof Error ? error.message : String(error) })
}
