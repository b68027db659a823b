import { spawn } from 'node:child_process'
import { once } from 'node:events'

// Runs npm scripts at the same time: node test/parallel.ts lint types test:quick. What follows `npm test --` is for the
// linter and the tests: node test/parallel.ts lint types test:quick -- lib/engine
// The output of a script is printed when it ends, so that they do not mix.

const [scripts, parameters] = splitParameters(process.argv.slice(2))
const codes = await Promise.all(scripts.map(async (script) => {
  const started = performance.now()
  const own = script === 'types' ? [] : parameters
  const child = spawn('npm', ['run', '--silent', script, '--', ...own], { stdio: ['ignore', 'pipe', 'pipe'] })
  const output: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk))
  const [code] = await once(child, 'close') as [number | null]
  const seconds = Math.round((performance.now() - started) / 1000)
  const title = `${code === 0 ? 'ok' : 'failed'}: npm run ${script} (${seconds} s)\n`
  process.stdout.write(Buffer.concat([Buffer.from(title), ...output]))
  return code
}))
if (codes.some((code) => code !== 0)) process.exitCode = 1

/** Separates the scripts from what comes after the first path or option. */
function splitParameters (words: readonly string[]): [scripts: string[], parameters: string[]] {
  const first = words.findIndex((word) => word.includes('/') || word.startsWith('-'))
  return first < 0 ? [[...words], []] : [words.slice(0, first), words.slice(first)]
}
