import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** Boots the smallest definition from dist/, and sends the six requests. */
const program = `
import Fastify from 'fastify'
import { Type } from '@sinclair/typebox'
import collection, { define } from 'fastify-collections'
import { memory } from 'fastify-collections/memory'
const Note = Type.Object({ id: Type.String({ format: 'uuid', readOnly: true }), text: Type.String() })
const app = Fastify()
await app.register(collection, define({ name: 'notes', schema: Note, storage: memory() }))
const { headers: { location } } = await app.inject({ method: 'POST', url: '/notes', payload: { text: 'a' } })
await app.inject('/notes')
await app.inject(location)
await app.inject({ method: 'PUT', url: location, payload: { text: 'b' } })
await app.inject({ method: 'PATCH', url: location, payload: { text: 'c' } })
await app.inject({ method: 'DELETE', url: location })
await app.close()
`

interface Range {
  readonly startOffset: number
  readonly endOffset: number
  readonly count: number
}

interface Script {
  readonly url: string
  readonly functions: ReadonlyArray<{ readonly ranges: readonly Range[] }>
}

/** Measures what the smallest definition loads of dist/, and how much of it runs. */
export async function measureLoaded (root: string): Promise<{ bytes: number, files: number, executedShare: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'collections-coverage-'))
  try {
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: root,
      env: { ...process.env, NODE_V8_COVERAGE: folder },
      encoding: 'utf8'
    })
    if (status !== 0) throw new Error(stderr)
    const [name = ''] = readdirSync(folder)
    const { result } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { result: readonly Script[] }
    const dist = pathToFileURL(join(root, 'dist')).href
    const own = result.filter(({ url }) => url.startsWith(`${dist}/`))
    let bytes = 0
    let executed = 0
    for (const { url, functions } of own) {
      const { size } = statSync(fileURLToPath(url))
      bytes += size
      executed += countExecuted(size, functions.flatMap(({ ranges }) => ranges))
    }
    return { bytes, files: own.length, executedShare: executed / bytes }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Ranges are nested: an inner one decides about its part. */
function countExecuted (size: number, ranges: readonly Range[]): number {
  const isExecuted = new Uint8Array(size)
  const outermostFirst = ranges.toSorted((a, b) => (b.endOffset - b.startOffset) - (a.endOffset - a.startOffset))
  for (const { startOffset, endOffset, count } of outermostFirst) {
    isExecuted.fill(count > 0 ? 1 : 0, startOffset, endOffset)
  }
  return isExecuted.reduce((sum, value) => sum + value, 0)
}
