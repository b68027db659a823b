import { DatabaseSync } from 'node:sqlite'
import { Type } from '@sinclair/typebox'
import fc from 'fast-check'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import { test } from 'tap'
import { batch } from '../../../lib/doors/batch/batch.ts'
import { action } from '../../../lib/features/action.ts'
import { softDelete } from '../../../lib/features/soft-delete.ts'
import { toCollection } from '../../../lib/engine/collection.ts'
import { getDetail } from '../../../lib/http/problems.ts'
import collection, { define, problem, ProblemError } from '../../../lib/index.ts'
import { registry } from '../../../lib/app/registry.ts'
import type { Definition, Transaction } from '../../../lib/index.ts'
import type { Shape, Storage } from '../../../lib/storage/index.ts'
import { memory } from '../../../lib/storage/memory.ts'
import { sqlite } from '../../../lib/storage/sqlite.ts'
import { sampleRuns } from '../../sample.ts'
import { readAll, sendBatch } from './shop.ts'

// Random batches have the same effect and the same problems as the same calls from code in one transaction.

const Stock = Type.Object({
  id: Type.String({ maxLength: 2 }),
  left: Type.Integer({ minimum: 0, maximum: 9 }),
  label: Type.Optional(Type.String({ maxLength: 4 })),
  secret: Type.Optional(Type.String({ writeOnly: true })),
  owner: Type.String({ readOnly: true, default: 'ada' })
})

const Note = Type.Object({
  id: Type.String({ maxLength: 4 }),
  text: Type.String({ maxLength: 4 }),
  deletedAt: Type.Optional(Type.String({ format: 'date-time' }))
})

/** What is common to both kinds of requests. */
interface Step {
  readonly on: 'stock' | 'notes'
  readonly action: 'create' | 'read' | 'list' | 'replace' | 'update' | 'remove' | 'take' | 'sum'
  readonly id: string
  readonly content: unknown
  readonly tag: 'none' | 'first' | 'wrong' | '*'
  /** Whether the content gets the id of the step before, as its label or text. */
  readonly refers: boolean
}

const maxSteps = 6

const ids = fc.constantFrom('a', 'a', 'a', 'b', 'b', 'c', 'toolong')

const contents = fc.oneof(
  { weight: 4, arbitrary: fc.record({ left: fc.integer({ min: 0, max: 10 }) }) },
  { weight: 2, arbitrary: fc.record({ left: fc.integer({ min: 0, max: 9 }), label: fc.constantFrom('x', 'toolong', null) }) },
  { weight: 2, arbitrary: fc.record({ text: fc.constantFrom('t', 'u', 7) }) },
  fc.constantFrom(
    { owner: 'eve' }, { secret: 's', left: 1 }, { unknown: 1 }, {}, 'text', null, { deletedAt: null, text: 't' },
    [{ op: 'replace', path: '/left', value: 2 }], [{ op: 'test', path: '/left', value: 5 }], [{ op: 'remove', path: '/x' }]
  )
)

const steps: fc.Arbitrary<Step[]> = fc.array(fc.record({
  on: fc.constantFrom('stock' as const, 'stock' as const, 'notes' as const),
  action: fc.constantFrom('create', 'read', 'list', 'replace', 'update', 'update', 'remove', 'take', 'sum'),
  id: ids,
  content: contents,
  tag: fc.constantFrom('none', 'none', 'none', 'first', 'wrong', '*'),
  refers: fc.boolean()
}), { minLength: 1, maxLength: maxSteps })

type Adapter = <Item extends object>(shape: Shape) => Storage<Item>

/** Two collections with rules and hooks. `events` are the calls of hooks. */
function defineBoth (storage: Adapter) {
  const events: string[] = []
  const record = (name: string) => ({ action, item, before }: { action: string, item?: unknown, before?: unknown }) => {
    events.push(`${name} ${action} ${JSON.stringify([item, before])}`)
  }
  const access = {
    authenticate: ({ request }: { request: { headers: { authorization?: string | undefined } } }) => {
      return request.headers.authorization
    },
    allow: { all: 'authenticated' as const, remove: ({ caller }: { caller: unknown }) => caller === 'ada' }
  }
  const stock = define({
    name: 'stock',
    schema: Stock,
    id: { generate: 'client' },
    put: { create: true },
    list: { filter: ['left'] },
    storage,
    access: { ...access, scope: ({ caller }) => ({ values: { owner: String(caller) } }) },
    hooks: {
      beforeWrite: (write) => {
        record('beforeWrite')(write)
        if (write.item?.left === 7) throw problem('conflict', { detail: 'Not seven.' })
      },
      afterWrite: async ({ after, transaction }) => {
        if (after?.left === 8) await transaction.collection(notes).create({ id: 'hook', text: 'h' })
      },
      afterCommit: ({ action, after }) => { events.push(`afterCommit ${action} ${after?.id}`) }
    }
  }).with(
    action('take', {
      input: Type.Object({ left: Type.Optional(Type.Integer({ minimum: 1 })) }),
      when: ({ item }) => item.left > 0 || 'Nothing is left.',
      run: ({ item, input: { left = 1 } }) => ({ ...item, left: item.left - left })
    }),
    action('sum', {
      on: 'collection',
      output: Type.Object({ sum: Type.Integer() }),
      async run ({ collection }) {
        let sum = 0
        for await (const { item } of collection.list()) sum += (item as { left: number }).left
        return { output: { sum } }
      }
    })
  )
  const notes = define({
    name: 'notes',
    schema: Note,
    id: { generate: 'client' },
    etag: { required: false },
    storage,
    access,
    hooks: {
      beforeValidation: ({ item }) => {
        if (item.text === 'u') return { ...item, text: 'v' }
        return item
      }
    }
  }).with(softDelete({ property: 'deletedAt' }))
  return { definitions: { stock, notes }, events }
}

interface Served {
  readonly app: FastifyInstance
  readonly definitions: ReturnType<typeof defineBoth>['definitions']
  readonly events: string[]
  /** The entity tags of the items that exist at first. */
  readonly tags: Map<string, string>
}

const initial = [
  { on: 'stock', item: { id: 'a', left: 5 } },
  { on: 'stock', item: { id: 'b', left: 0, label: 'x' } },
  { on: 'notes', item: { id: 'a', text: 't' } }
] as const

async function serve (storage: Adapter): Promise<Served> {
  const { definitions, events } = defineBoth(storage)
  const app = Fastify()
  await app.register(registry)
  for (const definition of Object.values<Definition>(definitions)) await app.register(collection, definition)
  await app.register(batch, { collections: Object.values<Definition>(definitions) })
  await app.ready()
  return { app, definitions, events, tags: new Map() }
}

/** Leaves nothing but the initial items. */
async function reset ({ app, definitions, events, tags }: Served): Promise<void> {
  const context = { signal: new AbortController().signal, scope: undefined }
  const known = ['a', 'b', 'c'].flatMap((id) => [id, ...Array.from({ length: maxSteps }, (_, index) => `${id}${index}`)])
  for (const definition of Object.values<Definition>(definitions)) {
    const { baseStorage } = toCollection(definition)
    for (const id of [...known, 'hook']) await baseStorage.remove(id, undefined, context)
  }
  for (const { on, item } of initial) {
    const response = await app.inject({ method: 'POST', url: `/${on}`, payload: item, headers: { authorization: 'ada' } })
    tags.set(`${on} ${item.id}`, String(response.headers.etag))
  }
  events.length = 0
}

/** What both lead to: the contents, or the problem of a part. */
type Result =
  | { readonly contents: readonly unknown[] }
  | { readonly part: number, readonly problem: object }

const methods = {
  create: 'POST',
  read: 'GET',
  list: 'GET',
  replace: 'PUT',
  update: 'PATCH',
  remove: 'DELETE',
  take: 'POST',
  sum: 'POST'
}

function hasContent ({ action }: Step): boolean {
  return action === 'create' || action === 'replace' || action === 'update' || action === 'take'
}

function hasTag ({ action }: Step): boolean {
  return action === 'replace' || action === 'update' || action === 'remove' || action === 'take'
}

/** An action that the collection does not have is another one. */
function normalize (given: readonly Step[]): Step[] {
  return given.map((step, index) => {
    const isMissing = step.on === 'notes' && (step.action === 'take' || step.action === 'sum')
    const action = isMissing ? 'read' : step.action
    const { content } = step
    const isObject = typeof content === 'object' && content !== null && !Array.isArray(content)
    const before = given[index - 1]
    const takesText = action === 'create' || action === 'replace' || action === 'update'
    const refers = step.refers && isObject && before?.action === 'create' && takesText
    if (!isObject) return { ...step, action, refers }
    const { left, ...others } = content as { left?: number }
    // Most contents are valid for stock.
    const valid = step.on === 'notes' && left !== undefined ? { text: `t${left}`, ...others } : content
    // Half of the ids are new.
    const id = index % 2 === 0 ? step.id : `${step.id}${index}`
    return { ...step, action, refers, content: action === 'create' ? { id, ...valid } : valid }
  })
}

function getTag ({ tags }: Served, { on, id, tag }: Step): string | undefined {
  if (tag === 'none') return undefined
  return tag === 'first' ? tags.get(`${on} ${id}`) ?? '"none"' : { wrong: '"wrong"', '*': '*' }[tag]
}

const target = { stock: 'label', notes: 'text' } as const

async function sendAsBatch (served: Served, given: readonly Step[], caller: string): Promise<Result> {
  const parts = given.map((step, index) => {
    const { on, action, id, content, refers } = step
    const paths = { create: '', list: '?sort=id', sum: '/sum', take: `/${id}/take` } as Readonly<Record<string, string>>
    return {
      id: `p${index}`,
      method: methods[action],
      path: `/${on}${paths[action] ?? `/${id}`}`,
      ...hasContent(step) && { content },
      ...refers && { refs: { [`/${target[on]}`]: `p${index - 1}#/id` } },
      ...hasTag(step) && { ifMatch: getTag(served, step) }
    }
  })
  const response = await sendBatch(served.app, parts, { headers: { authorization: caller } })
  const result = response.json()
  if (response.statusCode === 200) {
    return { contents: result.map(({ content = null }: { content: unknown }) => content) }
  }
  const { status, code, detail, errors } = result.problem ?? result
  return { part: result.part?.index, problem: { status, code, detail, errors } }
}

interface StepOptions {
  readonly caller: string
  readonly transaction: Transaction
  /** What the step before has returned. */
  readonly before: unknown
}

async function callStep (served: Served, step: Step, options: StepOptions) {
  const { definitions, app } = served
  const { on, action, id, refers } = step
  const { before, ...common } = options
  // The methods of both have the same names; their types differ by the items.
  const calls = app.collection(definitions[on] as typeof definitions.stock)
  const ifMatch = hasTag(step) ? getTag(served, step) : undefined
  const all = { ...common, ...ifMatch !== undefined && { ifMatch } } as never
  const referred = refers && { [target[on]]: (before as { id: string }).id }
  const content = (referred === false ? step.content : { ...step.content as object, ...referred }) as never
  switch (action) {
    case 'create': return (await calls.create(content, common as never)).item
    case 'read': return (await calls.read(id, common as never)).item
    case 'replace': return (await calls.replace(id, content, all)).item
    case 'update': return (await calls.update(id, content, all)).item
    case 'remove': return await calls.remove(id, all) ?? null
    case 'take': return (await calls.take(id, content, all)).item
    case 'sum': return calls.sum({}, common as never)
    case 'list': {
      const items = []
      for await (const { item } of calls.list({ sort: ['id'] }, common as never)) items.push(item)
      return items
    }
  }
}

async function makeCalls (served: Served, given: readonly Step[], caller: string): Promise<Result> {
  // A batch authorizes all parts before any of them runs.
  const forbidden = caller === 'ada' ? -1 : given.findIndex(({ action }) => action === 'remove')
  const run = forbidden < 0 ? given : [given[forbidden]!]
  let part = 0
  try {
    const contents = await served.app.collection(served.definitions.stock).transaction(async (transaction) => {
      const results: unknown[] = []
      for (const [index, step] of run.entries()) {
        part = index
        results.push(await callStep(served, step, { caller, transaction, before: results.at(-1) }))
      }
      return results
    })
    return { contents: JSON.parse(JSON.stringify(contents)) }
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error
    const { status, name, properties } = error.problem
    const known = { status, code: name, detail: getDetail(error.problem), errors: properties?.errors }
    return { part: forbidden < 0 ? part : forbidden, problem: known }
  }
}

async function readState ({ app, definitions }: Served): Promise<unknown> {
  const notes = await readAll(app, definitions.notes)
  return { stock: await readAll(app, definitions.stock), notes }
}

/** Rows of another caller do not exist for eve. */
const callers = ['ada', 'ada', 'ada', 'ada', 'ada', 'eve']

const storages: ReadonlyArray<[string, () => Promise<Adapter>]> = [
  ['memory', async () => memory()],
  ['SQLite', async () => {
    const storage = sqlite(new DatabaseSync(':memory:'))
    for (const definition of Object.values<Definition>(defineBoth(memory()).definitions)) {
      await storage.createTable(definition as never)
    }
    return storage
  }]
]

for (const [name, open] of storages) {
  test(`${name}: random batches do what the same calls in one transaction do`, async (t) => {
    const one = await serve(await open())
    const other = await serve(await open())
    t.after(() => Promise.all([one.app.close(), other.app.close()]))
    let committed = 0
    const runs = sampleRuns(300)
    const refused = new Map<string, number>()
    await fc.assert(fc.asyncProperty(steps, fc.constantFrom(...callers), async (given, caller) => {
      const normal = normalize(given)
      await reset(one)
      await reset(other)
      const asBatch = await sendAsBatch(one, normal, caller)
      const asCalls = await makeCalls(other, normal, caller)
      const expected = JSON.stringify([asCalls, await readState(other), 'contents' in asCalls && other.events])
      const found = JSON.stringify([asBatch, await readState(one), 'contents' in asBatch && one.events])
      if (found !== expected) throw new Error(`${JSON.stringify(normal)}\nbatch: ${found}\ncalls: ${expected}`)
      const code = 'contents' in asBatch ? 'committed' : (asBatch.problem as { code: string }).code
      if (code === 'committed') committed++
      refused.set(code, (refused.get(code) ?? 0) + 1)
    }), runs)
    t.ok(committed > runs.numRuns / 20, [...refused].join(' '))
  })
}
