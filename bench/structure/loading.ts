import { execFileSync } from 'node:child_process'

interface Files {
  readonly files: number
  /** Of 1000 bytes. */
  readonly kB: number
}

/** What a step of a program loads: files of the package and of others. */
export interface Loaded {
  readonly own: Files
  readonly others: Files
}

const smallest = "await import('fastify-collections'); await import('fastify-collections/memory')"

/** Serves requests of the smallest definition, in an app that may have @fastify/swagger. */
const serve = `
const { default: collection, define } = await import('fastify-collections')
const { memory } = await import('fastify-collections/memory')
const schema = Type.Object({ id: Type.String({ format: 'uuid', readOnly: true }), text: Type.String() })
await app.register(collection, define({ name: 'notes', schema, storage: memory() }))
const { headers: { location } } = await app.inject({ method: 'POST', url: '/notes', payload: { text: 'a' } })
await app.inject(location)
await app.inject('/notes')
app.swagger?.()
`

/** A row of docs/loaded.md: the code whose imports are measured, and what runs before it. */
export interface Step {
  readonly name: string
  readonly before: string
  readonly code: string
  /** Whether the code does nothing but import. */
  readonly isImport: boolean
}

/** @param specifiers the paths of the package, such as `fastify-collections/memory` */
export function listSteps (specifiers: readonly string[]): Step[] {
  // A route with a schema: Fastify loads its own validator with the first one.
  const app = 'const app = Fastify(); app.get("/", { schema: { querystring: {} } }, async () => "")'
  const before = `
const { default: Fastify } = await import('fastify')
const { Type } = await import('@sinclair/typebox')
`
  return [
    { name: 'fastify, for comparison', before: '', code: "await import('fastify')", isImport: true },
    { name: 'the smallest definition', before, code: smallest, isImport: true },
    { name: 'its boot and first requests', before: `${before}${smallest}\n${app}`, code: serve, isImport: false },
    {
      name: 'the same with `@fastify/swagger`',
      before: `${before}${smallest}\n${app}\nawait app.register((await import('@fastify/swagger')).default)`,
      code: serve,
      isImport: false
    },
    ...specifiers
      .filter((path) => !smallest.includes(`'${path}'`))
      .map((path) => ({
        name: `\`${path}\``,
        before: `${before}${smallest}`,
        code: `await import('${path}')`,
        isImport: true
      }))
  ]
}

/** Counts the files that a step loads, in a folder that has the package and Fastify. */
export function countLoaded (folder: string, { before, code }: Step): Loaded {
  return run(folder, `
import { statSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

const loaded = new Set()
registerHooks({
  load (url, context, next) {
    if (url.startsWith('file:')) loaded.add(fileURLToPath(url))
    return next(url, context)
  }
})
${before}
loaded.clear()
${code}
const folder = dirname(fileURLToPath(import.meta.resolve('fastify-collections')))
const count = (files) => ({ files: files.length, kB: files.reduce((sum, file) => sum + statSync(file).size, 0) / 1000 })
const files = [...loaded]
console.log(JSON.stringify({
  own: count(files.filter((file) => file.startsWith(folder))),
  others: count(files.filter((file) => !file.startsWith(folder)))
}))
`) as Loaded
}

/** Returns the CPU time of a step in milliseconds. */
export function measureTime (folder: string, { before, code }: Step): number {
  return run(folder, `
${before}
const begin = process.cpuUsage()
${code}
const { user, system } = process.cpuUsage(begin)
console.log((user + system) / 1000)
`) as number
}

function run (folder: string, program: string): unknown {
  const args = ['--no-warnings', '--input-type=module', '--eval', program]
  return JSON.parse(execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8' }))
}
