// Where the time of a profile went: node bench/profile.ts <file.cpuprofile> [rows]
import { readFileSync } from 'node:fs'
import { text } from './printer.ts'

interface Node {
  id: number
  callFrame: { functionName: string; url: string; lineNumber: number }
  children?: number[]
}
interface Profile {
  nodes: Node[]
  samples: number[]
  timeDeltas: number[]
}

const [file = '', rows = '30'] = process.argv.slice(2)
const { nodes, samples, timeDeltas }: Profile = JSON.parse(readFileSync(file, 'utf8'))

function place ({ url, lineNumber }: Node['callFrame']) {
  const short = url.includes('/node_modules/')
    ? url.replace(/^.*\/node_modules\//, '')
    : url.replace(/^.*\/(lib|bench)\//, '$1/')
  return url === '' ? '' : `${short}:${lineNumber + 1}`
}

/** A package, a folder of the project, or Node.js itself. */
function part ({ url, functionName }: Node['callFrame']) {
  if (url === '') return functionName.startsWith('(') ? functionName : 'engine'
  if (url.startsWith('node:')) return url.split('/')[0]!
  const inside = /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1]
  return inside ?? /\/(lib|bench)\/.*$/.exec(url)?.[0].slice(1) ?? url
}

const own = new Map<number, number>()
samples.forEach((id, index) => own.set(id, (own.get(id) ?? 0) + timeDeltas[index]!))
// Neither server nor requests: waiting, and the profiler itself.
const idle = new Set(
  nodes
    .filter(
      ({ callFrame }) =>
        ['(idle)', '(program)', '(root)'].includes(callFrame.functionName) || callFrame.url === 'node:inspector'
    )
    .map(({ id }) => id)
)
const total = [...own].reduce((sum, [id, time]) => (idle.has(id) ? sum : sum + time), 0)

/** Self time, and time of all callees; a recursive function counts once. */
const functions = new Map<string, { self: number; below: number }>()
const parts = new Map<string, number>()
const byId = new Map(nodes.map((node) => [node.id, node]))

function walk (node: Node, above: ReadonlySet<string>): number {
  const name = `${node.callFrame.functionName || '(anonymous)'}  ${place(node.callFrame)}`
  const self = own.get(node.id) ?? 0
  const inside = above.has(name) ? above : new Set(above).add(name)
  const below = (node.children ?? []).reduce((sum, id) => sum + walk(byId.get(id)!, inside), self)
  const entry = functions.get(name) ?? { self: 0, below: 0 }
  functions.set(name, { self: entry.self + self, below: above.has(name) ? entry.below : entry.below + below })
  if (!idle.has(node.id)) parts.set(part(node.callFrame), (parts.get(part(node.callFrame)) ?? 0) + self)
  return below
}
walk(nodes[0]!, new Set())

const percent = (time: number) => `${((100 * time) / total).toFixed(1)} %`
const top = [...functions].filter(([name]) => !/^\((idle|program|root)\)|node:inspector/.test(name))
const lines = (of: typeof top) =>
  of.slice(0, Number(rows)).map(([name, time]) => [name, percent(time.self), percent(time.below)])
console.log('by part, self time')
text.table(
  [...parts]
    .sort((one, other) => other[1] - one[1])
    .slice(0, Number(rows))
    .map(([name, time]) => [name, percent(time)])
)
console.log('\nby function: self time, with all below')
text.table(lines(top.toSorted((one, other) => other[1].self - one[1].self)))
console.log('\nby function of the project, with all below first')
text.table(
  lines(top.filter(([name]) => / {2}(lib|bench)\//.test(name)).sort((one, other) => other[1].below - one[1].below))
)
