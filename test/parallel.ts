import { spawn } from 'node:child_process'
import { once } from 'node:events'

// Runs npm scripts at the same time: node test/parallel.ts lint types test:quick.
// The output of a script is printed when it ends, so that they do not mix.

const codes = await Promise.all(process.argv.slice(2).map(async (script) => {
  const child = spawn('npm', ['run', '--silent', script], { stdio: ['ignore', 'pipe', 'pipe'] })
  const output: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk))
  const [code] = await once(child, 'close') as [number | null]
  process.stdout.write(Buffer.concat([Buffer.from(`${code === 0 ? 'ok' : 'failed'}: npm run ${script}\n`), ...output]))
  return code
}))
if (codes.some((code) => code !== 0)) process.exitCode = 1
