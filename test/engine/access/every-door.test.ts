import { DatabaseSync } from 'node:sqlite'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import { test } from 'tap'
import type { Test } from 'tap'
import { registry } from '../../../lib/app/registry.ts'
import { batch } from '../../../lib/doors/batch/batch.ts'
import { action } from '../../../lib/features/action.ts'
import collection, { define } from '../../../lib/index.ts'
import type { AccessOptions } from '../../../lib/index.ts'
import { relate } from '../../../lib/relations/relate.ts'
import { sqlite } from '../../../lib/storage/sqlite.ts'

// What a caller may do and see is the same whether it sends a request, a part of a batch, or code calls for it.

const User = Type.Object({ id: Type.String(), name: Type.String(), email: Type.Optional(Type.String()) })
const Note = Type.Object({
  id: Type.String(),
  text: Type.String(),
  secret: Type.Optional(Type.String()),
  userId: Type.Optional(Type.String())
})

interface Rules {
  readonly users?: AccessOptions['allow']
  readonly notes?: AccessOptions['allow']
  readonly visible?: (context: { readonly action: string }) => boolean
  readonly onValidation?: () => void
  readonly actions?: ReadonlyArray<'list' | 'read' | 'create' | 'replace'>
}

/** What one door returns: the status, and the content if there is any. */
type Answer = readonly [status: number, content: unknown]

/** Calls as Ada. */
interface Door {
  read(id: string, expand?: 'user'): Promise<Answer>
  list(): Promise<Answer>
  replace(id: string, text: string): Promise<Answer>
  reveal(id: string): Promise<Answer>
}

/** Serves notes of users, and returns its doors. */
async function serve (t: Test, rules: Rules): Promise<Record<'http' | 'code' | 'batch', Door>> {
  const database = new DatabaseSync(':memory:')
  const storage = sqlite(database)
  const authenticate: AccessOptions['authenticate'] = () => 'ada'
  const { users, notes } = relate({
    users: define({
      name: 'users',
      schema: User,
      id: { generate: 'client' },
      storage,
      access: { authenticate, allow: rules.users ?? 'public' }
    }),
    notes: define({
      name: 'notes',
      schema: Note,
      id: { generate: 'client' },
      put: { create: true },
      storage,
      hooks: {
        beforeValidation: () => { rules.onValidation?.() }
      },
      ...rules.actions && { actions: rules.actions },
      access: {
        authenticate,
        allow: rules.notes ?? 'public',
        visible: { secret: (context) => rules.visible?.(context) ?? true }
      }
    }).with(action('reveal', {
      allow: 'public',
      output: Type.Object({ text: Type.String(), key: Type.String({ writeOnly: true }) }),
      run: ({ item }) => ({ output: { text: item.text, key: 'key' } })
    }))
  }, { notes: { user: { to: 'users', property: 'userId' } } })
  await storage.createTable(users)
  await storage.createTable(notes)
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(registry)
  for (const definition of [users, notes]) await app.register(collection, definition)
  await app.register(batch, { collections: [users, notes] })
  await app.ready()
  const calls = app.collection(notes)
  await app.collection(users).create({ id: 'u', name: 'Ada' })
  await calls.create({ id: 'a', text: 'A', secret: 'S', userId: 'u' })

  type Method = 'GET' | 'PUT' | 'POST'
  const send = async (method: Method, path: string, content?: object): Promise<Answer> => {
    const { statusCode, payload } = await app.inject({ method, url: path, ...content && { payload: content } })
    return [statusCode, payload === '' ? undefined : JSON.parse(payload)]
  }
  const sendPart = async (method: Method, path: string, content?: object): Promise<Answer> => {
    const [status, answer] = await send('POST', '/batch', [{ method, path, ...content && { content } }])
    if (status !== 200) return [(answer as { problem?: { status: number } }).problem?.status ?? status, answer]
    const [part] = answer as [{ status: number, content?: unknown }]
    return [part.status, part.content]
  }
  const call = async (run: () => Promise<unknown>): Promise<Answer> => {
    try {
      return [200, await run()]
    } catch (error) {
      return [(error as { statusCode?: number }).statusCode ?? 500, undefined]
    }
  }
  const caller = 'ada'
  const toDoor = (request: typeof send): Door => ({
    read: (id, expand) => request('GET', `/notes/${id}${expand === undefined ? '' : `?expand=${expand}`}`),
    list: () => request('GET', '/notes'),
    replace: (id, text) => request('PUT', `/notes/${id}`, { text }),
    reveal: (id) => request('POST', `/notes/${id}/reveal`, {})
  })
  return {
    http: toDoor(send),
    batch: toDoor(sendPart),
    code: {
      read: (id, expand) => call(async () => {
        const entry = expand === undefined
          ? await calls.read(id, { caller })
          : await calls.read(id, { caller, expand: { user: true } })
        return entry.item
      }),
      list: () => call(async () => {
        const items = []
        for await (const { item } of calls.list({}, { caller })) items.push(item)
        return items
      }),
      replace: (id, text) => call(async () => (await calls.replace(id, { id, text }, { caller })).item),
      reveal: (id) => call(() => calls.reveal(id, {}, { caller }))
    }
  }
}

const doors = ['http', 'code', 'batch'] as const

for (const name of doors) {
  test(`${name}: functions of access.visible get the action`, async (t) => {
    const seen: string[] = []
    const visible = ({ action }: { readonly action: string }) => {
      seen.push(action)
      return action !== 'list'
    }
    const { [name]: door } = await serve(t, { visible })
    t.match(await door.read('a'), [200, { secret: 'S' }])
    const [, items] = await door.list()
    t.strictSame(items, [{ id: 'a', text: 'A', userId: 'u' }])
    await door.replace('a', 'B')
    t.strictSame([...new Set(seen)], ['read', 'list', 'replace'])
  })

  test(`${name}: the rule create of a PUT is asked before the content is processed`, async (t) => {
    const steps: string[] = []
    const notes = {
      create: () => steps.push('create') < 0,
      replace: () => steps.push('replace') > 0
    }
    const { [name]: door } = await serve(t, { notes, onValidation: () => steps.push('validation') })
    steps.length = 0
    t.equal((await door.replace('b', 'B'))[0], 404)
    t.strictSame(steps, ['replace', 'create'])
    t.equal((await door.replace('a', 'B'))[0], 200)
    t.strictSame(steps.slice(2), ['replace', 'create', 'validation'])
  })

  test(`${name}: a PUT that creates needs the rule create, also if POST is not served`, async (t) => {
    const actions = ['list', 'read', 'replace'] as const
    const { [name]: refused } = await serve(t, { actions, notes: { create: () => false, all: () => true } })
    t.equal((await refused.replace('b', 'B'))[0], 404)
    const { [name]: allowed } = await serve(t, { actions, notes: { create: () => true, all: () => true } })
    t.ok((await allowed.replace('b', 'B'))[0] < 300)
  })

  test(`${name}: a rule that throws a client error makes related items unreadable`, async (t) => {
    const fail = (statusCode: number) => () => { throw Object.assign(new Error('no'), { statusCode }) }
    const { [name]: refused } = await serve(t, { users: { read: fail(403), all: 'public' } })
    t.match(await refused.read('a', 'user'), [200, { text: 'A', user: null }])
    const { [name]: failing } = await serve(t, { users: { read: fail(503), all: 'public' } })
    t.ok((await failing.read('a', 'user'))[0] >= 500)
    const { [name]: readable } = await serve(t, {})
    t.match(await readable.read('a', 'user'), [200, { text: 'A', user: { name: 'Ada' } }])
  })

  test(`${name}: a caller gets the output of a custom action without writeOnly properties`, async (t) => {
    const { [name]: door } = await serve(t, {})
    t.strictSame(await door.reveal('a'), [200, { text: 'A' }])
  })
}
