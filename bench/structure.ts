// How much a reader, and a process, has to travel: files per request, imports, loaded code. Prints one table.
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { compareImportTimes } from './structure/import-time.ts'
import { countImporters, findTypeCircles, readImports } from './structure/imports.ts'
import { findKindConditions } from './structure/kinds.ts'
import { measureLoaded } from './structure/loaded.ts'

const { values } = parseArgs({
  options: {
    launches: { type: 'string', default: '9' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false }
  }
})

const usage = `npm run structure -- [--json]
  --launches ${values.launches} (how often the time of an import is measured; 0 for not at all)

Functions and returns are counted on lib/, outside of http/ and storage/, for the third request of its kind, with a
definition without features over memory. A return is a call into a file that the request has left before. Conditions on
the kind of an action are lines outside of the table of the ways to call a collection (lib/engine/table.ts). Loaded bytes and import times are those of dist/, which is
built first. Import times are CPU time, as a ratio to importing fastify in the same run.`

if (values.help) {
  console.log(usage)
} else {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const run = (...args: string[]) => execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  const walks = JSON.parse(run('bench/structure/walk.ts')) as Record<string, { files: number, functions: number, returns: number }>
  run('.ci/build.js')
  const loaded = await measureLoaded(root)
  const imports = readImports(root)
  const circles = findTypeCircles(imports)
  const importTime = Number(values.launches) === 0 ? undefined : compareImportTimes(root, Number(values.launches))

  const rows: Array<readonly [string, string]> = [
    ...Object.entries(walks).map(([name, { files, functions, returns }]) => {
      return [name, `${functions} functions, ${returns} returns, ${files} files`] as const
    }),
    ['loaded by the smallest definition', `${Math.round(loaded.bytes / 1000)} kB in ${loaded.files} files`],
    ['executed at boot and by six requests', `${Math.round(loaded.executedShare * 100)} %`],
    ['largest circle of type imports', `${circles[0]?.length ?? 0} files`],
    ['files that import Collection', String(countImporters(imports, 'Collection'))],
    ['conditions on the kind of an action', String(findKindConditions(root, imports.files).length)],
    ['lib', `${imports.files.length} files, ${imports.lines} lines`],
    ...importTime === undefined
      ? []
      : [['import, beside fastify alone', `${importTime.median.toFixed(2)} (${importTime.quartiles})`] as const]
  ]
  if (values.json) console.log(JSON.stringify(Object.fromEntries(rows), undefined, 2))
  else for (const [name, value] of rows) console.log(`${name.padEnd(40)}${value}`)
}
