import { tracingChannel } from 'node:diagnostics_channel'
import { DatabaseSync } from 'node:sqlite'
import { Type } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import * as features from '../features/all.ts'
import collection, { define, problem } from '../../lib/index.ts'
import { registry } from '../../lib/app/registry.ts'
import type { CollectionCalls, Definition, StatementEvent } from '../../lib/index.ts'
import type { ManyCalls } from '../../lib/engine/call-types.ts'
import type { Feature } from '../../lib/features/index.ts'
import type { Shape, Storage } from '../../lib/storage/index.ts'
import { relate } from '../../lib/relations/relate.ts'
import { memory } from '../../lib/storage/memory.ts'
import type { TableDefinition } from '../../lib/storage/sql.ts'
import { sqlite } from '../../lib/storage/sqlite.ts'

// The collections of test/doors.test.ts: a definition with one, two or no features, which notes down what it does.

const Author = Type.Object({ id: Type.String({ pattern: '^[a-z]+$', maxLength: 20 }), name: Type.String() })

/** Clients choose the ids, so that recordings do not depend on chance. */
export const Note = Type.Object({
  id: Type.String({ pattern: '^(n\\d|old)$', maxLength: 10 }),
  text: Type.String({ maxLength: 30 }),
  rank: Type.Integer({ default: 0 }),
  secret: Type.Optional(Type.String()),
  team: Type.Optional(Type.String()),
  authorId: Type.Optional(Type.String()),
  deletedAt: Type.Optional(Type.String({ format: 'date-time' }))
})

export type NoteItem = typeof Note.static
type Notes = Definition<NoteItem, features.AddedAction<'archive', 'item', { reason?: string }, undefined>>
export type NoteCalls =
  CollectionCalls<NoteItem, features.AddedAction<'archive', 'item', { reason?: string }, undefined>> &
  Partial<ManyCalls<NoteItem>>

type Authors = Definition<typeof Author.static>

/** Every feature, with options that the steps can tell from their defaults. */
const featuresByName: Readonly<Record<string, (authors: Authors) => Feature<NoteItem, unknown>>> = {
  action: () => features.action<NoteItem, 'archive', 'item', ReturnType<typeof createInput>>('archive', {
    input: createInput(),
    when: ({ item }) => item.rank < 9 || 'It is archived already.',
    run: ({ item }) => ({ ...item, rank: 9 })
  }),
  bulk: () => features.bulk({ maximum: 2, update: true, remove: true }),
  idempotency: () => features.idempotency(),
  redirects: () => features.redirects({ to: ({ id }) => (id === 'old' ? { href: '/elsewhere' } : undefined) }),
  softDelete: () => features.softDelete({ property: 'deletedAt', allow: ({ caller }) => caller === 'root' }),
  timeout: () => features.timeout(600_000),
  within: (authors) => features.within(authors, 'authorId')
}

function createInput () {
  return Type.Object({ reason: Type.Optional(Type.String()) })
}

/** Adds the feature of relate(), which gets whole definitions. */
const relations = 'expand'

const names = [...Object.keys(featuresByName), relations].sort()

/** No feature, each feature, and each pair of features. */
export const combinations: ReadonlyArray<readonly string[]> = [
  [],
  ...names.map((name) => [name]),
  ...names.flatMap((first, index) => names.slice(index + 1).map((second) => [first, second]))
]

export interface Served {
  readonly app: FastifyInstance
  readonly notes: NoteCalls
  /** The path of the notes. */
  readonly path: string
  /** Returns what has happened since the last call: hooks and rules, and calls of the storage or statements. */
  takeEvents (): { readonly functions: string, readonly storage: string }
  close (): Promise<void>
}

export interface Variant {
  readonly storage: 'memory' | 'SQLite'
  /** Whether the definition has access rules and hooks. */
  readonly hasRules: boolean
}

/** Serves notes with these features, in an app of its own. */
export async function serve (featureNames: readonly string[], variant: Variant): Promise<Served> {
  const functions: string[] = []
  const statements: string[] = []
  const { storage, createTables, stop } = openStorage(variant.storage, statements)
  const unrelated = define({ name: 'authors', schema: Author, id: { generate: 'client' }, storage })
  const plain: Definition<NoteItem> = define({
    name: 'notes',
    schema: Note,
    id: { generate: 'client' },
    storage,
    list: { search: ['text'] },
    ...variant.hasRules && createRules(functions, (before) => changeDirectly(plain, before))
  })
  // The names are those of any features, so the compiler does not know what they add.
  const featured = featureNames.filter((name) => name !== relations).map((name) => featuresByName[name]!(unrelated))
  const { authors, notes: related } = relate(
    { authors: unrelated, notes: plain.with(...featured) as Definition<NoteItem> },
    featureNames.includes(relations) ? { notes: { author: { to: 'authors', property: 'authorId' } } } : {}
  )
  const notes = related as unknown as Notes
  await createTables([authors, notes])
  const app = Fastify()
  await app.register(registry)
  await app.register(collection, authors)
  await app.register(collection, notes)
  await app.ready()
  await app.collection(authors).create({ id: 'ada', name: 'Ada' })
  const takeEvents = () => {
    const events = { functions: functions.join(' '), storage: statements.join(' ') }
    functions.length = 0
    statements.length = 0
    return events
  }
  takeEvents()
  return {
    app,
    notes: app.collection(notes),
    path: featureNames.includes('within') ? '/authors/ada/notes' : '/notes',
    takeEvents,
    async close () {
      await app.close()
      stop()
    }
  }
}

/** Another program changes the item, without the rules of the definition. */
async function changeDirectly ({ storage }: Definition<NoteItem>, before: Readonly<NoteItem>): Promise<void> {
  const context = { signal: new AbortController().signal, scope: undefined }
  await storage.replace(before.id, { ...before, rank: before.rank + 1 }, undefined, context)
}

/**
 * Rules and hooks that note down their calls. Some texts of items make hooks refuse or fail, and one makes the write
 * lose a race.
 */
function createRules (events: string[], race: (before: Readonly<NoteItem>) => Promise<void>) {
  let hasRaced = false
  const refuse = (hook: string, text: string | undefined) => {
    events.push(hook)
    if (text === `${hook} refuses`) throw problem('conflict', { detail: `${hook} has refused.` })
    if (text === `${hook} fails`) throw new Error(`${hook} has failed.`)
  }
  return {
    access: {
      authenticate: ({ request }: { request: { headers: Record<string, unknown> } }) => {
        events.push('authenticate')
        const user = request.headers['x-user']
        return user === undefined ? undefined : String(user)
      },
      allow: ({ caller, action }: { caller: unknown, action: string }) => {
        events.push(`allow:${action}`)
        return caller === 'root' || (caller === 'ada' && action !== 'remove')
      },
      scope: ({ caller }: { caller: unknown }) => {
        events.push('scope')
        return caller === 'root' ? undefined : { values: { team: 'red' } }
      },
      visible: {
        secret: ({ caller }: { caller: unknown }) => {
          events.push('visible')
          return caller === 'root'
        }
      }
    },
    hooks: {
      beforeValidation: async ({ item, before }: { item: NoteItem, before?: Readonly<NoteItem> | undefined }) => {
        refuse('beforeValidation', item.text)
        if (item.text === 'raced' && before !== undefined && !hasRaced) {
          hasRaced = true
          await race(before)
        }
        return item
      },
      beforeWrite: ({ item }: { item: Readonly<NoteItem> | undefined }) => refuse('beforeWrite', item?.text),
      afterWrite: ({ after }: { after: Readonly<NoteItem> | undefined }) => refuse('afterWrite', after?.text),
      afterCommit: ({ after }: { after: Readonly<NoteItem> | undefined }) => refuse('afterCommit', after?.text)
    }
  }
}

function openStorage (name: Variant['storage'], events: string[]) {
  return name === 'memory' ? openMemory(events) : openSqlite(events)
}

function openMemory (events: string[]) {
  const adapter = memory()
  const storage = <Item extends object>(shape: Shape): Storage<Item> => {
    const opened = adapter<Item>(shape)
    return shape.name === 'notes' ? noteCalls(opened, events) : opened
  }
  return { storage, async createTables (_definitions: readonly TableDefinition[]) {}, stop () {} }
}

const notedMethods = new Set([
  'list', 'find', 'insert', 'replace', 'remove', 'insertMany', 'replaceMany', 'removeMany', 'claim', 'keep', 'release'
])

/** Notes down the calls of a storage, within its transactions as well. */
function noteCalls<Target extends object> (target: Target, events: string[]): Target {
  return new Proxy(target, {
    get (_target, property) {
      const value: unknown = Reflect.get(target, property)
      if (property === 'receipts' && value instanceof Object) return noteCalls(value, events)
      if (typeof value !== 'function') return value
      if (property === 'join') return (...args: unknown[]) => noteCalls(value.apply(target, args), events)
      if (property === 'transaction') {
        return async (work: (storage: object, handle: unknown) => unknown, ...rest: unknown[]) => {
          events.push('begin')
          try {
            const inner = (storage: object, handle: unknown) => work(noteCalls(storage, events), handle)
            const result: unknown = await value.apply(target, [inner, ...rest])
            events.push('commit')
            return result
          } catch (error) {
            events.push('rollback')
            throw error
          }
        }
      }
      if (!notedMethods.has(String(property))) return value.bind(target)
      return (...args: unknown[]) => {
        events.push(String(property))
        return value.apply(target, args)
      }
    }
  })
}

function openSqlite (events: string[]) {
  const database = new DatabaseSync(':memory:')
  const storage = sqlite(database)
  const channel = tracingChannel<unknown, StatementEvent>('fastify-collections:statement')
  const subscriber = {
    start ({ collection: name, operation, text }: StatementEvent) {
      if (name === 'authors') return
      events.push(text.includes('receipts') ? `${operation}:receipts` : operation)
    },
    end () {},
    asyncStart () {},
    asyncEnd () {},
    error () {}
  }
  return {
    storage,
    async createTables (definitions: readonly TableDefinition[]) {
      for (const definition of definitions) await storage.createTable(definition)
      channel.subscribe(subscriber)
    },
    stop () {
      channel.unsubscribe(subscriber)
      database.close()
    }
  }
}
