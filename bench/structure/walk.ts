// Counts the files of lib/ that a request passes through, and prints them as JSON. Every function of lib/ is changed,
// when its file is loaded, so that it reports its file.
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import ts from 'typescript'

const lib = new URL('../../lib/', import.meta.url).href

/** The file of each function that was called, in the order of the calls. */
let calls: string[] = []

declare global {
  var reportCall: (file: string) => void
}
globalThis.reportCall = (file) => { calls.push(file) }

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
  const report = `globalThis.reportCall(${JSON.stringify(file)})`
  const insertions: Array<{ at: number, text: string }> = []
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const body = node.body as ts.Block | ts.Expression
      if (ts.isBlock(body)) {
        insertions.push({ at: body.getStart() + 1, text: `${report};` })
      } else {
        insertions.push({ at: body.getStart(), text: `(${report}, ` }, { at: body.getEnd(), text: ')' })
      }
    }
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true))
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

/** Each is sent for one item, and then for another: the second time counts. */
const requests: Readonly<Record<string, (id: string) => { method: string, url: string, payload?: object }>> = {
  POST: (id) => ({ method: 'POST', url: '/notes', payload: { id, text: 'first' } }),
  GET: (id) => ({ method: 'GET', url: `/notes/${id}` }),
  list: () => ({ method: 'GET', url: '/notes?done=false' }),
  PUT: (id) => ({ method: 'PUT', url: `/notes/${id}`, payload: { id, text: 'second' } }),
  PATCH: (id) => ({ method: 'PATCH', url: `/notes/${id}`, payload: { text: 'third' } }),
  DELETE: (id) => ({ method: 'DELETE', url: `/notes/${id}` }),
  'POST to /tasks': (id) => ({ method: 'POST', url: '/tasks', payload: { id, text: 'first' } }),
  'custom action': (id) => ({ method: 'POST', url: `/tasks/${id}/finish`, payload: {} })
}

const walks: Record<string, { files: number, moves: number, path?: string[] }> = {}
for (const [name, createRequest] of Object.entries(requests)) {
  for (const id of ['n1', 'n2']) {
    calls = []
    const { statusCode, payload } = await app.inject(createRequest(id) as { method: 'GET', url: string })
    if (statusCode >= 300) throw new Error(`${name}: ${statusCode} ${payload}`)
  }
  const moves = calls.filter((file, index) => file !== calls[index - 1])
  walks[name] = { files: new Set(calls).size, moves: moves.length, ...process.argv.includes('--path') && { path: moves } }
}
delete walks['POST to /tasks']
await app.close()
console.log(JSON.stringify(walks, undefined, process.argv.includes('--path') ? 2 : 0))
