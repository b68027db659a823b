import { execFileSync } from 'node:child_process'
import { ratio } from '../statistics.ts'

/** Imports fastify, then the library, and prints the CPU time of each in microseconds. */
const program = `
const measure = async (...files) => {
  const before = process.cpuUsage()
  for (const file of files) await import(file)
  const { user, system } = process.cpuUsage(before)
  return user + system
}
const fastify = await measure('fastify')
console.log(JSON.stringify([fastify, await measure('fastify-collections', 'fastify-collections/memory')]))
`

/** Compares importing the library, with its dependencies, to importing fastify. */
export function compareImportTimes (root: string, launches: number): { median: number, quartiles: string } {
  const times = Array.from({ length: launches }, () => {
    const args = ['--input-type=module', '--eval', program]
    return JSON.parse(execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' })) as [number, number]
  })
  const { median, low, high } = ratio(times.map(([, own]) => own), times.map(([fastify]) => fastify))
  return { median, quartiles: `${low.toFixed(2)}-${high.toFixed(2)}` }
}
