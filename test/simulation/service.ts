import { Type } from '@sinclair/typebox'
import type { Static } from '@sinclair/typebox'
import Fastify from 'fastify'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { batch } from '../../lib/doors/batch/batch.ts'
import { action } from '../../lib/features/action.ts'
import { bulk } from '../../lib/features/bulk.ts'
import { idempotency } from '../../lib/features/idempotency.ts'
import { redirects } from '../../lib/features/redirects.ts'
import { softDelete } from '../../lib/features/soft-delete.ts'
import { timeout } from '../../lib/features/timeout.ts'
import { within } from '../../lib/features/within.ts'
import collection, { define, ProblemError } from '../../lib/index.ts'
import { registry } from '../../lib/app/registry.ts'
import type { HookOptions, Transaction } from '../../lib/index.ts'
import { relate } from '../../lib/relations/relate.ts'
import type { Database } from './database.ts'
import { newIds } from './plan.ts'

// One process of the service: items of owners, people that items refer to, and a log that hooks write.

/** What an app is made of. Each history has other features, so that none hides the code of another. */
export interface AppConfig {
  readonly hasSoftDelete: boolean
  /** Whether `beforeWrite` and `afterWrite` run in the transaction, and write to the log. */
  readonly hasHooks: boolean
  readonly hasValidationHook: boolean
  /** Whether `afterCommit` is called. Without it, a DELETE need not read the item. */
  readonly hasCommitHook: boolean
  /** Whether the library of the schema checks and changes items after Ajv. */
  readonly hasRefinement: boolean
  /** Whether the person that an item refers to has to exist. */
  readonly hasReferences: boolean
  /** Whether items are also served within the person that they refer to. */
  readonly hasNested: boolean
  /** Whether items have moved: a request for an id that does not exist is redirected. */
  readonly hasRedirects: boolean
  /** Whether rules and scopes are late, because they ask the database. */
  readonly hasSlowRules: boolean
  readonly processes: number
}

/** A call of `afterCommit`. */
export interface Notice {
  readonly process: number
  readonly action: string
  readonly id: string
}

/** Hooks get copies, so what they do to them has no effect. */
function spoil (item: object | undefined): void {
  for (const name of Object.keys(item ?? {})) Reflect.deleteProperty(item!, name)
}

/** What the harness does inside of the service. */
export interface Probe {
  /** Called in functions of the app: may throw, return late, or never. */
  callHook (name: string): Promise<void>
  addNotice (notice: Notice): void
  /** Called with the response of each request, so that its client can go away. */
  addResponse (attempt: string, response: ServerResponse): void
  addLogLine (line: Record<string, unknown>): void
}

/** What a call from code returns. */
export interface Stored {
  readonly item?: Record<string, unknown>
  readonly tag?: string
  readonly count?: number
}

/** The calls that the harness makes. They are not typed: content and ids may be invalid on purpose. */
export interface Calls {
  read (id: string, options: object): Promise<Stored>
  list (query: object, options: object): AsyncIterable<Required<Stored>>
  pages (query: object, options: object): AsyncIterable<{ readonly entries: ReadonlyArray<Required<Stored>> }>
  create (content: object, options: object): Promise<Stored>
  createMany (contents: readonly object[], options: object): Promise<Stored[]>
  replace (id: string, content: object, options: object): Promise<Stored>
  update (id: string, content: object, options?: object): Promise<Stored>
  updateMany (query: object, content: object, options: object): Promise<Stored>
  remove (id: string, options: object): Promise<void>
  removeMany (query: object, options: object): Promise<Stored>
  add (id: string, input: object, options: object): Promise<Stored>
  move (input: object, options: object): Promise<void>
  tally (input: object, options: object): Promise<void>
  transaction<Result> (work: (transaction: Transaction) => Promise<Result>): Promise<Result>
}

export interface Service {
  readonly app: FastifyInstance
  /** The database as this process sees it. */
  readonly identity: object
  readonly items: Calls
  readonly people: Calls
}

/** In milliseconds. */
export const limit = 1000
/** In milliseconds. Shorter than the limit, so that another request can claim the key of one that still runs. */
export const lease = 600

const deletedAt = Type.Optional(Type.String({ format: 'date-time' }))
const optionalText = Type.Optional(Type.Union([Type.String(), Type.Null()]))
const Item = Type.Object({
  id: Type.String({ maxLength: 2 }),
  owner: Type.String(),
  group: Type.String(),
  text: Type.String(),
  n: Type.Integer(),
  /** The operation that has written it. */
  by: Type.String(),
  secret: Type.Optional(Type.String()),
  /** Hooks set these. */
  checked: Type.Optional(Type.String()),
  written: Type.Optional(Type.String()),
  code: optionalText,
  personId: optionalText,
  deletedAt
})
const Person = Type.Object({
  id: Type.String(),
  by: Type.String(),
  phone: Type.Optional(Type.String()),
  /** Whether callers other than root see the person. */
  shared: Type.Boolean({ default: true }),
  deletedAt
})
const LogEntry = Type.Object({ id: Type.String(), item: Type.String(), by: Type.String(), action: Type.String() })
/** As the schema of another library: an item of this code has to be in this group, and texts have no spaces around. */
function refineSchema (probe: Probe): typeof Item {
  const validate = async (value: unknown) => {
    await probe.callHook('refine')
    const item = value as Draft
    const isValid = item.code !== 'y' || item.group === 'g'
    if (!isValid) return { issues: [{ message: 'must be in the group g', path: ['code'] }] }
    return { value: { ...item, text: item.text.trim() } }
  }
  const jsonSchema = { input: () => Item, output: () => Item }
  // The types are those of the schema.
  return { '~standard': { version: 1, vendor: 'simulation', validate, jsonSchema } } as unknown as typeof Item
}

const input = Type.Object({ by: Type.String() })

const authenticate = ({ request }: { request: FastifyRequest }) => request.headers['x-user'] as string | undefined
const isRoot = ({ caller }: { caller: unknown }) => caller === 'root'

/** The context of a rule or a scope. */
interface RuleContext {
  readonly caller: unknown
  readonly request: FastifyRequest | undefined
}

type Draft = Static<typeof Item>

/** Hooks move an item with this text to another owner, so that it is outside of the scope of every caller but root. */
function moveAstray (item: Draft): void {
  if (item.text.trim() === 'astray') item.owner = 'nobody'
}

/** What functions of the app return is refined as well. */
function addSpace<Given extends { readonly text: string }> (item: Given): Given {
  return { ...item, text: ` ${item.text.trim()}` }
}

interface HookArguments {
  readonly action: string
  readonly item?: Draft | undefined
  readonly before?: object | undefined
  readonly after?: object | undefined
  readonly transaction?: Transaction
}

interface ServiceOptions {
  readonly database: Database
  /** The database as this process sees it. */
  readonly identity: object
  readonly process: number
  readonly probe: Probe
}

export async function createService (config: AppConfig, options: ServiceOptions): Promise<Service> {
  const { database, identity, process, probe } = options
  const storage = database.createAdapter(identity)
  const id = { generate: 'client' } as const
  const deletion = config.hasSoftDelete ? [softDelete({ property: 'deletedAt', allow: isRoot })] : []
  const logs = define({ name: 'logs', schema: LogEntry, id, storage })

  /** A PUT creates the item. */
  async function findNewId ({ id, request }: { id: string, request: FastifyRequest | undefined }) {
    await probe.callHook('to')
    return request?.method === 'PUT' ? undefined : newIds.get(id)
  }

  /** A rule of a request is called before its transaction. A call has the rules of the app, which may be in one. */
  async function ask ({ request }: RuleContext): Promise<void> {
    if (!config.hasSlowRules || request === undefined) return
    const calls = app.collection(related.people) as unknown as Calls
    await calls.read('p', {}).catch((error: unknown) => {
      if (!(error instanceof ProblemError)) throw error
    })
  }

  const items = define({
    name: 'items',
    schema: config.hasRefinement ? refineSchema(probe) : Item,
    id,
    storage,
    unique: ['code'],
    put: { create: true },
    list: { filter: ['group', 'n'] },
    access: {
      authenticate,
      allow: {
        all: 'authenticated',
        async create (context) {
          await ask(context)
          return (context.caller as unknown) !== 'gus'
        }
      },
      async scope (context) {
        await ask(context)
        if (isRoot(context)) return undefined
        const isListOfGus = context.action === 'list' && (context.caller as unknown) === 'gus'
        return { values: { owner: String(context.caller), ...isListOfGus && { group: 'g' } } }
      },
      visible: { secret: isRoot }
    },
    hooks: createHooks()
  }).with(
    idempotency({ lease }),
    bulk({ update: true, remove: true }),
    timeout(limit),
    action('add', {
      input,
      async run ({ item, input: { by } }) {
        await probe.callHook('run')
        return { ...addSpace(item), n: item.n + 1, by }
      }
    }),
    action('move', {
      on: 'collection',
      input: Type.Object({ from: Type.String(), to: Type.String(), by: Type.String() }),
      async run ({ input: { from, to, by }, collection: calls, transaction, caller }) {
        const [source, target] = await transaction.lock(calls, [from, to], { caller })
        await probe.callHook('run')
        await calls.update(from, { n: source.item.n - 1, by }, { caller })
        await calls.update(to, { n: target.item.n + 1, by }, { caller })
      }
    }),
    action('tally', {
      on: 'collection',
      input,
      async run ({ input: { by }, collection: calls, caller }) {
        for await (const { id: each, item } of calls.list({}, { caller })) {
          await calls.update(each, { n: item.n + 1, by }, { caller })
        }
      }
    }),
    ...config.hasRedirects ? [redirects({ to: findNewId })] : [],
    ...deletion
  )

  function createHooks (): HookOptions<Static<typeof Item>> {
    const getWritten = ({ before, after }: HookArguments) => (after ?? before) as { id: string, by: string }
    const validationHooks = {
      /** Changes what it gets. */
      async beforeValidation ({ item, before }: HookArguments) {
        spoil(before)
        await probe.callHook('beforeValidation')
        // Content is refined before.
        item!.checked = item!.text.startsWith(' ') ? 'with a space' : item!.by
        moveAstray(item!)
      }
    }
    const transactionHooks = {
      /** Returns another item. */
      async beforeWrite ({ item, before }: HookArguments) {
        spoil(before)
        await probe.callHook('beforeWrite')
        if (item === undefined) return undefined
        const changed = { ...addSpace(item), written: item.by }
        moveAstray(changed)
        return changed
      },
      async afterWrite (written: HookArguments) {
        const { id: item, by } = getWritten(written)
        await written.transaction!.collection(logs).create({ id: randomUUID(), item, by, action: written.action })
        spoil(written.before)
        spoil(written.after)
        await probe.callHook('afterWrite')
      }
    }
    const commitHooks = {
      async afterCommit (written: HookArguments) {
        probe.addNotice({ process, action: written.action, id: getWritten(written).id })
        spoil(written.before)
        spoil(written.after)
      }
    }
    const hooks = {
      ...config.hasValidationHook && validationHooks,
      ...config.hasHooks && transactionHooks,
      ...config.hasCommitHook && commitHooks
    }
    // Hooks that are left out have no type.
    return hooks as HookOptions<Static<typeof Item>>
  }

  const people = define({
    name: 'people',
    schema: Person,
    id,
    storage,
    put: { create: true },
    access: {
      authenticate,
      // What a caller may not read is not included, and it cannot refer to it.
      allow: { all: 'public', read: ({ caller }) => (caller as unknown) !== 'gus' },
      scope: (context) => isRoot(context) ? undefined : { values: { shared: true } },
      visible: { phone: isRoot }
    }
  }).with(...deletion)
  const related = relate({ items, people }, {
    items: { person: { to: 'people', property: 'personId', references: config.hasReferences } }
  })

  const stream = { write: (line: string) => probe.addLogLine(JSON.parse(line)) }
  const app = Fastify({ logger: { level: 'warn', stream } })
  app.addHook('onRequest', async (request, reply) => {
    probe.addResponse(String(request.headers['x-attempt']), reply.raw)
  })
  await app.register(registry)
  await app.register(collection, logs)
  await app.register(collection, related.people)
  await app.register(collection, related.items)
  const nested = related.items.with(within(related.people, 'personId'))
  if (config.hasNested) await app.register(collection, nested)
  const collections = [related.items, related.people, ...config.hasNested ? [nested] : []]
  await app.register(batch, { collections, timeout: limit, idempotency: { lease } })
  await app.ready()
  return {
    app,
    identity,
    items: app.collection(related.items) as unknown as Calls,
    people: app.collection(related.people) as unknown as Calls
  }
}
