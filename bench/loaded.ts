// What a process loads: writes the table of docs/loaded.md. `npm run loaded`, two minutes.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { countLoaded, listSteps, measureTime } from './structure/loading.ts'

const { values } = parseArgs({ options: { launches: { type: 'string', default: '15' } } })
const root = fileURLToPath(new URL('..', import.meta.url))
execFileSync(process.execPath, ['.ci/build.js'], { cwd: root, stdio: 'inherit' })

const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { exports: Record<string, unknown> }
const specifiers = Object.keys(exports)
  .filter((path) => path !== './package.json')
  .map((path) => join('fastify-collections', path))

const median = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0

const rows = listSteps(specifiers).map((step) => {
  const { own, others } = countLoaded(root, step)
  const times = step.isImport ? Array.from({ length: Number(values.launches) }, () => measureTime(root, step)) : []
  const time = times.length === 0 ? '' : median(times).toFixed(1)
  return `| ${step.name} | ${own.files} | ${Math.round(own.kB)} | ${others.files} | ${Math.round(others.kB)} | ${time} |`
})

const page = join(root, 'docs/loaded.md')
const content = readFileSync(page, 'utf8')
const head = /^\| loaded .*\n\|---.*\n/m.exec(content)
if (head === null) throw new Error(`${page} has no table that begins with "loaded".`)
const start = head.index + head[0].length
writeFileSync(page, `${content.slice(0, start)}${rows.join('\n')}\n${content.slice(start).replace(/^(\|.*\n)*/, '')}`)
console.log(rows.join('\n'))
