import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { test } from 'tap'
import { batch } from '../../lib/doors/batch/batch.ts'
import { bulk } from '../../lib/features/bulk.ts'
import collection, { define } from '../../lib/index.ts'
import { registry } from '../../lib/app/registry.ts'
import type { Shape, Storage } from '../../lib/storage/index.ts'
import { memory } from '../../lib/storage/memory.ts'
import { StorageUnreachable } from '../../lib/storage/unreachable.ts'
import { wrapStorage } from '../../lib/storage/wrap-storage.ts'

// Writes inside of a transaction that lose a race: what hooks have written is undone, and the transaction runs again.

const Note = Type.Object({ id: Type.String(), owner: Type.String(), n: Type.Integer() })

/** The writes of these items that another one precedes, as if a process had created or changed them in between. */
type Lost = Set<string>

/** The hook moves the item b out of the scope of ann if it gets this number. */
const astray = 13

function loseRaces (lost: Lost, found: string[]) {
  // The items are those of the schema: it is the same storage.
  return (shape: Shape) => wrapStorage(memory()(shape), (inner) => ({
    list: inner.list,
    async find (id, context) {
      found.push(`${id}${context.lock === true ? ' locked' : ''}`)
      if (lost.delete(`connection ${id}`)) lost.add('connection')
      else if (lost.delete('connection')) throw new StorageUnreachable('connection lost', undefined)
      return inner.find(id, context)
    },
    remove: inner.remove,
    async insert (draft, context) {
      const isLost = lost.delete(String(Reflect.get(draft, 'id')))
      return isLost ? { refused: 'not-unique', properties: ['id'] } : inner.insert(draft, context)
    },
    async replace (id, item, expected, context) {
      return lost.delete(String(id)) ? { refused: 'stale' } : inner.replace(id, item, expected, context)
    }
  })) as Storage<typeof Note.static>
}

async function serveNotes (t: { after (close: () => unknown): void }) {
  const lost: Lost = new Set()
  const found: string[] = []
  const hooks: string[] = []
  const notes = define({
    name: 'notes',
    schema: Note,
    id: { generate: 'client' },
    put: { create: true },
    list: { filter: ['id', 'owner'] },
    storage: loseRaces(lost, found),
    access: {
      authenticate: () => 'ann',
      scope: ({ caller }) => ({ values: { owner: String(caller) } })
    },
    hooks: {
      beforeWrite ({ action, item }) {
        hooks.push(`${action} ${item?.id}`)
        if (item?.n === astray && item.id === 'b') item.owner = 'nobody'
      }
    }
  }).with(bulk({ update: true }))
  const app = Fastify()
  t.after(() => app.close())
  await app.register(registry)
  await app.register(collection, notes)
  await app.register(batch, { collections: [notes] })
  await app.ready()
  const calls = app.collection(notes)
  for (const [id, owner] of [['a', 'ann'], ['b', 'ann'], ['c', 'bob']] as const) await calls.create({ id, owner, n: 0 })
  hooks.length = 0
  const send = (payload: object[]) => app.inject({ method: 'POST', url: '/batch', payload })
  return { calls, found, hooks, lost, send }
}

const putNew = { method: 'PUT', path: '/notes/new', content: { n: 1 } }
const patchA = { method: 'PATCH', path: '/notes/a', content: { n: 1 } }

test('a batch runs again if a part loses a race', async (t) => {
  const { calls, hooks, lost, send } = await serveNotes(t)
  for (const [part, id] of [[putNew, 'new'], [{ ...patchA, path: '/notes/b' }, 'b']] as const) {
    lost.add(id)
    hooks.length = 0
    const response = await send([{ ...patchA, content: { n: id.length } }, part])
    t.equal(response.statusCode, 200, response.body)
    t.equal(hooks.length, 4, 'the first part as well')
    t.equal((await calls.read(id)).item.n, 1)
  }
})

test('what fails when a batch runs again is not taken for the lost race', async (t) => {
  const { lost, send } = await serveNotes(t)
  lost.add('b').add('connection b')
  const response = await send([{ ...patchA, path: '/notes/b' }])
  t.match(response.json(), { status: 503, code: 'storage-unavailable' })
})

test('a transaction runs again if a call loses a race', async (t) => {
  const { calls, lost } = await serveNotes(t)
  let attempts = 0
  for (const [n, method] of (['replace', 'update', 'updateMany'] as const).entries()) {
    attempts = 0
    lost.add('b')
    await calls.transaction(async (transaction) => {
      attempts++
      if (method === 'replace') await calls.replace('b', { owner: 'ann', n: n + 1 }, { transaction })
      if (method === 'update') await calls.update('b', { n: n + 1 }, { transaction })
      if (method === 'updateMany') await calls.updateMany({ filter: { id: 'b' } }, { n: n + 1 }, { transaction })
    })
    t.equal(attempts, 2, method)
    t.equal((await calls.read('b')).item.n, n + 1)
  }
})

test('a transaction that runs again first locks what it had locked, in the order of all others', async (t) => {
  const { calls, found, lost } = await serveNotes(t)
  let attempts = 0
  lost.add('b')
  await calls.transaction(async (transaction) => {
    attempts++
    if (attempts === 2) t.strictSame(found.splice(0), ['a locked', 'b locked', 'c locked'])
    for (const id of ['c', 'a']) await calls.read(id, { transaction })
    await calls.update('b', { n: 1 }, { transaction }).finally(() => { found.length = 0 })
  })
  t.equal(attempts, 2)
})

test('transaction.lock locks in the order of all others, whatever the order of the ids', async (t) => {
  const { calls, found } = await serveNotes(t)
  await calls.transaction(async (transaction) => {
    const locked = await transaction.lock(calls, ['c', 'a', 'b'])
    t.strictSame(locked.map(({ id }) => id), ['c', 'a', 'b'])
    t.strictSame(found, ['a locked', 'b locked', 'c locked'])
  })
})

test('a call that is refused in part undoes the whole transaction, even if its error is caught', async (t) => {
  const { calls, hooks } = await serveNotes(t)
  await t.rejects(calls.transaction(async (transaction) => {
    const query = { filter: { owner: 'ann' } }
    await calls.updateMany(query, { n: astray }, { caller: 'ann', transaction }).catch(() => {})
  }), { code: 'validation-failed' })
  t.strictSame(hooks, ['update a', 'update b'], 'a was written')
  t.equal((await calls.read('a')).item.n, 0)
})

test('a PUT that creates at the id of an item outside of the scope has lost no race', async (t) => {
  const { hooks, send } = await serveNotes(t)
  const response = await send([patchA, { ...putNew, path: '/notes/c' }])
  t.match(response.json(), { code: 'batch-failed', part: { index: 1 }, problem: { code: 'not-unique' } })
  t.strictSame(hooks, ['update a', 'create c'])
})
