// Counts the functions and files of lib/ that a request passes through, and prints them as JSON. Every function of
// lib/ is changed, when its file is loaded, so that it reports itself.
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import ts from 'typescript'

const lib = new URL('../../lib/', import.meta.url).href

interface Called {
  readonly file: string
  /** The file with the line of the function. */
  readonly place: string
}

/** The functions that were called, in the order of the calls. */
let calls: Called[] = []

declare global {
  var reportCall: (file: string, line: number) => void
}
globalThis.reportCall = (file, line) => { calls.push({ file, place: `${file}:${line}` }) }

/** Changed files have URLs of their own, so that nothing takes them for the files of lib/: coverage, for example. */
const scheme = 'walk:'

registerHooks({
  resolve (specifier, context, nextResolve) {
    const parentURL = context.parentURL?.startsWith(scheme) ? context.parentURL.slice(scheme.length) : context.parentURL
    const resolved = nextResolve(specifier, { ...context, parentURL })
    return resolved.url.startsWith(lib) ? { ...resolved, url: scheme + resolved.url } : resolved
  },
  load (url, context, nextLoad) {
    if (!url.startsWith(scheme)) return nextLoad(url, context)
    const file = url.slice(scheme.length + lib.length)
    const source = readFileSync(new URL(url.slice(scheme.length)), 'utf8')
    return { format: 'module-typescript', source: addReports(file, source), shortCircuit: true }
  }
})

/** Returns the source with a call of `reportCall` at the beginning of every function. */
function addReports (file: string, source: string): string {
  const insertions: Array<{ at: number, text: string }> = []
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const body = node.body as ts.Block | ts.Expression
      const line = parsed.getLineAndCharacterOfPosition(node.getStart()).line + 1
      const report = `globalThis.reportCall(${JSON.stringify(file)}, ${line})`
      if (ts.isBlock(body)) {
        insertions.push({ at: body.getStart() + 1, text: `${report};` })
      } else {
        insertions.push({ at: body.getStart(), text: `(${report}, ` }, { at: body.getEnd(), text: ')' })
      }
    }
    ts.forEachChild(node, visit)
  }
  const parsed = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true)
  visit(parsed)
  let text = source
  for (const insertion of insertions.sort((a, b) => b.at - a.at)) {
    text = text.slice(0, insertion.at) + insertion.text + text.slice(insertion.at)
  }
  return text
}

const { default: Fastify } = await import('fastify')
const { Type } = await import('@sinclair/typebox')
const { default: collection, define } = await import('../../lib/index.ts')
const { action } = await import('../../lib/features/action.ts')
const { memory } = await import('../../lib/storage/memory.ts')

const Note = Type.Object({
  id: Type.String({ pattern: '^n\\d$', maxLength: 10 }),
  text: Type.String(),
  done: Type.Boolean({ default: false })
})
const notes = define({ name: 'notes', schema: Note, id: { generate: 'client' }, storage: memory() })
const tasks = define({ name: 'tasks', schema: Note, id: { generate: 'client' }, storage: memory() })
  .with(action('finish', { run: ({ item }) => ({ ...item, done: true }) }))
const app = Fastify()
await app.register(collection, notes)
await app.register(collection, tasks)
await app.ready()

interface Sent {
  readonly method: string
  readonly url: string
  readonly payload?: object
}

/** The third one is counted: what is kept after the first is there already. */
const requests: Readonly<Record<string, (id: string, round: number) => Sent>> = {
  POST: (id) => ({ method: 'POST', url: '/notes', payload: { id, text: 'first' } }),
  GET: () => ({ method: 'GET', url: '/notes/n1' }),
  list: () => ({ method: 'GET', url: '/notes?done=false' }),
  PUT: (_id, round) => ({ method: 'PUT', url: '/notes/n1', payload: { id: 'n1', text: `second ${round}` } }),
  PATCH: (_id, round) => ({ method: 'PATCH', url: '/notes/n1', payload: { text: `third ${round}` } }),
  DELETE: (id) => ({ method: 'DELETE', url: `/notes/${id}` }),
  'POST to /tasks': (id) => ({ method: 'POST', url: '/tasks', payload: { id, text: 'first' } }),
  'custom action': (id) => ({ method: 'POST', url: `/tasks/${id}/finish`, payload: {} })
}

interface Walk {
  readonly files: number
  /** How many functions are called, outside of http/ and storage/. */
  readonly functions: number
  /** How often the walk returns to a file that it has left, outside of http/ and storage/. */
  readonly returns: number
  readonly path?: readonly string[]
}

function measure (called: readonly Called[]): Walk {
  const own = called.filter(({ file }) => !/^(?:http|storage)\//.test(file))
  const moves = own.filter(({ file }, index) => file !== own[index - 1]?.file).map(({ file }) => file)
  const returns = moves.filter((file, index) => moves.indexOf(file) < index).length
  return {
    files: new Set(called.map(({ file }) => file)).size,
    functions: new Set(own.map(({ place }) => place)).size,
    returns,
    ...process.argv.includes('--path') && { path: called.map(({ place }) => place) }
  }
}

const walks: Record<string, Walk> = {}
for (const [name, createRequest] of Object.entries(requests)) {
  for (const [round, id] of ['n1', 'n2', 'n3'].entries()) {
    calls = []
    const { statusCode, payload } = await app.inject(createRequest(id, round) as { method: 'GET', url: string })
    if (statusCode >= 300) throw new Error(`${name}: ${statusCode} ${payload}`)
  }
  walks[name] = measure(calls)
}
delete walks['POST to /tasks']
await app.close()
console.log(JSON.stringify(walks, undefined, process.argv.includes('--path') ? 2 : 0))
