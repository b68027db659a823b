import { DatabaseSync } from 'node:sqlite'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import { action } from '../../../lib/features/action.ts'
import { bulk } from '../../../lib/features/bulk.ts'
import { softDelete } from '../../../lib/features/soft-delete.ts'
import { within } from '../../../lib/features/within.ts'
import { define, ProblemError } from '../../../lib/index.ts'
import type { Authenticate, Definition, HookOptions } from '../../../lib/index.ts'
import type { Shape, Storage } from '../../../lib/storage/index.ts'
import { memory } from '../../../lib/storage/memory.ts'
import { sqlite } from '../../../lib/storage/sqlite.ts'
import { build, request } from '../../app.ts'
import { allStorages } from '../../storages.ts'
import type { TestStorage } from '../../storages.ts'

// The rules of the parent of a nested collection apply to a caller through every door.

const Project = Type.Object({
  id: Type.Integer(),
  owner: Type.String(),
  removed: Type.Optional(Type.String({ format: 'date-time', readOnly: true }))
})
const Task = Type.Object({ id: Type.Integer(), projectId: Type.Integer(), title: Type.String() })

const authenticate: Authenticate = ({ request }) => request.headers['x-user']?.toString()

function defineProjects (storage: <Item extends object>(shape: Shape) => Storage<Item>): Definition {
  return define({
    name: 'projects',
    schema: Project,
    id: { generate: 'storage' },
    storage,
    access: {
      authenticate,
      allow: ({ caller, action }) => action !== 'read' || caller !== 'eve',
      scope: ({ caller }) => caller === 'root' ? undefined : { values: { owner: String(caller) } }
    }
  }).with(softDelete({ property: 'removed' }))
}

const finish = action<typeof Task.static, 'finish'>('finish', {
  run: ({ item }) => ({ ...item, title: 'finished' })
})

/** Returns the status of a refused call; 200 of the others. */
async function status (call: Promise<unknown>): Promise<number> {
  try {
    await call
    return 200
  } catch (error) {
    if (error instanceof ProblemError) return error.statusCode
    throw error
  }
}

const withoutContent = (code: number): number => code < 300 ? 200 : code

for (const { name, skip, open } of allStorages) {
  test(`${name}: a caller from code has the rights that it has over HTTP`, { skip }, async (t) => {
    const { storage, prepare } = await open(t)
    const projects = defineProjects(storage)
    const tasks = define({ name: 'tasks', schema: Task, id: { generate: 'storage' }, storage, access: { authenticate } })
      .with(bulk({ update: true, remove: true }), within(projects, 'projectId'), finish)
    await prepare(projects)
    await prepare(tasks)
    const app = await build(t, [projects, tasks as Definition], { service: {} })
    const asApp = app.collection(tasks)
    for (const owner of ['ada', 'bob', 'ada']) await app.collection(projects).create({ owner })
    for (const projectId of [1, 2, 3]) await asApp.create({ projectId, title: 'first' })
    await request(app, 'DELETE /projects/3', { fields: { 'x-user': 'ada' } })

    for (const caller of ['ada', 'bob', 'eve', 'root', undefined]) {
      const fields = caller === undefined ? {} : { 'x-user': caller }
      for (const id of [1, 2, 3]) {
        const at = `/projects/${id}/tasks`
        const sent = async (target: string, content?: unknown): Promise<number> => {
          return withoutContent((await request(app, target, { content, fields })).statusCode)
        }
        const task = { projectId: id, title: 'second' }
        for (const [what, overHttp, fromCode] of [
          ['read', () => sent(`GET ${at}/${id}`), () => asApp.read(id, { caller })],
          ['update', () => sent(`PATCH ${at}/${id}`, { title: 'x' }), () => asApp.update(id, { title: 'x' }, { caller })],
          ['replace', () => sent(`PUT ${at}/${id}`, { title: 'y' }), () => asApp.replace(id, { ...task }, { caller })],
          ['finish', () => sent(`POST ${at}/${id}/finish`, {}), () => asApp.finish(id, {}, { caller })]
        ] as const) {
          t.equal(await status(fromCode()), await overHttp(), `${caller} may ${what} in ${id}`)
        }
        const http = await sent(`POST ${at}`, { title: 'second' })
        const code = await status(asApp.create(task, { caller }))
        t.equal(code === 422 ? 404 : code, http, `${caller} may create in ${id}`)
      }
    }

    const titles = async (caller: string): Promise<unknown[]> => {
      const seen: number[] = []
      for await (const { item } of asApp.list({ sort: ['id'] }, { caller })) seen.push(item.projectId)
      return [...new Set(seen)]
    }
    t.strictSame([await titles('ada'), await titles('bob'), await titles('root')], [[1], [2], [1, 2]])
    await t.rejects(asApp.update(1, { projectId: 2 }, { caller: 'ada' }), {
      statusCode: 422,
      errors: [{ pointer: '/projectId', message: 'is outside the scope of the caller' }]
    }, 'an item cannot be moved to a parent that the caller cannot read')
    const everything = { filter: { 'id.gte': 0 } }
    const changed = await asApp.updateMany(everything, { title: 'ada was here' }, { caller: 'ada' })
    const own: unknown[] = []
    for await (const { id } of asApp.list({ filter: { projectId: 1 } })) own.push(id)
    t.strictSame(changed.ids, own)
    await asApp.removeMany(everything, { caller: 'bob' })
    t.strictSame([await titles('bob'), await titles('ada')], [[], [1]])
  })
}

interface Nested {
  readonly app: FastifyInstance
  readonly tasks: Definition<typeof Task.static>
  /** The parent of each task, by its id. */
  parents (): Promise<Array<[id: unknown, projectId: number]>>
}

/** A project of each of two owners, with a task, whose hooks change `projectId`. */
async function serveMoved (
  t: Test,
  { open }: TestStorage,
  hooks: HookOptions<typeof Task.static>
): Promise<Nested> {
  const { storage, prepare } = await open(t)
  const projects = defineProjects(storage)
  const input = Type.Object({ to: Type.Integer() })
  const move = action<typeof Task.static, 'move', 'item', typeof input>('move', {
    input,
    run: ({ item, input }) => ({ ...item, title: 'moved', projectId: input.to })
  })
  const tasks = define({ name: 'tasks', schema: Task, id: { generate: 'storage' }, storage, access: { authenticate }, hooks })
    .with(bulk({ update: true }), within(projects, 'projectId'), move)
  await prepare(projects)
  await prepare(tasks)
  const app = await build(t, [projects, tasks as Definition], { service: {} })
  const calls = app.collection(tasks)
  for (const owner of ['ada', 'bob', 'ada']) await app.collection(projects).create({ owner })
  for (const projectId of [1, 2]) await calls.create({ projectId, title: 'first' })
  return {
    app,
    tasks: tasks as never,
    async parents () {
      const found: Array<[id: unknown, projectId: number]> = []
      for await (const { id, item } of calls.list({ sort: ['id'] })) found.push([id, item.projectId])
      return found
    }
  }
}

for (const storage of allStorages) {
  const { name, skip } = storage

  for (const [title, hooks] of Object.entries({
    'no hooks': {},
    afterWrite: { afterWrite () {} },
    beforeValidation: { beforeValidation () {} }
  })) {
    test(`${name}: a call with ${title} reads a new parent of its items in its transaction`, { skip }, async (t) => {
      const { app, tasks, parents } = await serveMoved(t, storage, hooks)
      const calls = app.collection(tasks) as unknown as Record<string, (...parameters: unknown[]) => Promise<unknown>>
      const own = { filter: { projectId: 1 } }
      const refused = { statusCode: 422, message: /\/projectId is outside the scope of the caller/ }
      await t.rejects(calls.updateMany!(own, { projectId: 2 }, { caller: 'ada' }), refused)
      await t.rejects(calls.move!(1, { to: 2 }, { caller: 'ada' }), refused)
      t.strictSame(await parents(), [[1, 1], [2, 2]])
      await calls.updateMany!(own, { projectId: 3 }, { caller: 'ada' })
      t.strictSame(await parents(), [[1, 3], [2, 2]])
      await calls.move!(1, { to: 1 }, { caller: 'ada' })
      t.strictSame(await parents(), [[1, 1], [2, 2]])
    })
  }

  for (const hook of ['beforeValidation', 'beforeWrite'] as const) {
    test(`${name}: ${hook} cannot move an item of a caller to another parent`, { skip }, async (t) => {
      let isOn = false
      const { app, tasks, parents } = await serveMoved(t, storage, {
        [hook]: ({ item }: { item?: { projectId: number } }) => {
          if (isOn && item !== undefined) item.projectId = 2
        }
      })
      isOn = true
      const fields = { 'x-user': 'ada' }
      for (const [target, content] of [
        ['POST /projects/1/tasks', { title: 'second' }],
        ['PUT /projects/1/tasks/1', { title: 'second' }],
        ['PATCH /projects/1/tasks/1', { title: 'second' }],
        ['PATCH /projects/1/tasks?title=first', { title: 'second' }],
        ['POST /projects/1/tasks/1/move', { to: 1 }]
      ] as const) {
        const refused = await request(app, target, { content, fields })
        t.equal(refused.statusCode, 422, `${target}: ${refused.payload}`)
        t.match(refused.payload, '/projectId', target)
      }
      const calls = app.collection(tasks)
      const options = { caller: 'ada' }
      const refused = { statusCode: 422, message: /projectId/ }
      await t.rejects(calls.create({ projectId: 1, title: 'second' }, options), refused)
      await t.rejects(calls.update(1, { title: 'second' }, options), refused)
      t.strictSame(await parents(), [[1, 1], [2, 2]], 'nothing was written')
      await calls.update(1, { title: 'second' })
      t.strictSame(await parents(), [[1, 2], [2, 2]], 'the app itself can move items')
    })
  }
}

test('a caller is refused if its items and their parents are in different databases', async (t) => {
  const projects = defineProjects(memory())
  const adapter = sqlite(new DatabaseSync(':memory:'))
  const tasks = define({ name: 'tasks', schema: Task, id: { generate: 'storage' }, storage: adapter })
    .with(within(projects, 'projectId'))
  await adapter.createTable(tasks)
  const app = await build(t, [projects, tasks], { service: {} })
  const calls = app.collection(tasks)
  await calls.create({ projectId: 1, title: 'by the app' })
  await t.rejects(calls.read(1, { caller: 'root' }), { name: 'TypeError', message: /their rows cannot be related/ })
})
