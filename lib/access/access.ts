import type { ActionName } from '../action.ts'
import { toCollection } from '../collection.ts'
import type { Collection, Definition } from '../collection.ts'
import { statusOf } from '../failure.ts'
import { credentialFields, isPersonal } from './guard.ts'
import type { Authentication, Guard } from './guard.ts'
import type { CachePolicy } from '../http/cache-control.ts'
import { problem } from '../http/problems.ts'
import type { Request } from '../request/request.ts'
import type { DateTimes } from '../schema/date-times.ts'
import type { Scope } from './scope.ts'
import { scopeOf } from './scope.ts'
import type { Hidden } from './visible.ts'
import { hiddenFrom } from './visible.ts'
import type { onRequestAsyncHookHandler } from 'fastify'

type Incoming = Request['original']

/** What must be known of a collection to tell who may do what in it. */
export interface Guarded {
  readonly name: string
  readonly actions: ReadonlySet<ActionName>
  readonly guard: Guard | undefined
  readonly dateTimes: DateTimes | undefined
}

/** Who is calling, or how the credentials were refused. */
interface Identified {
  readonly caller: string | undefined
  readonly refusal: unknown
}

const nobody: Identified = Object.freeze({ caller: undefined, refusal: undefined })

// By what is asked, since collections that share it share the answer, and by request.
const asked = new WeakMap<Authentication['caller'], WeakMap<Incoming, Promise<Identified>>>()

function identify ({ authentication }: Guard, incoming: Incoming): Promise<Identified> | Identified {
  if (authentication === undefined) return nobody
  let known = asked.get(authentication.caller)
  if (known === undefined) asked.set(authentication.caller, known = new WeakMap())
  let identified = known.get(incoming)
  if (identified === undefined) known.set(incoming, identified = ask(authentication, incoming))
  return identified
}

async function ask ({ caller }: Authentication, incoming: Incoming): Promise<Identified> {
  let id: unknown
  try {
    id = await caller(incoming)
  } catch (thrown) {
    return { caller: undefined, refusal: refusalBy(thrown, incoming) }
  }
  if (id === undefined || id === null || id === '') return nobody
  if (typeof id !== 'string') throw new TypeError(`authentication.caller gave ${typeof id === 'object' ? 'an object' : String(id)}. An id of a caller is text.`)
  return { caller: id, refusal: undefined }
}

/** An error that says nothing of HTTP is about the credentials, and not meant for a client. */
function refusalBy (thrown: unknown, incoming: Incoming): unknown {
  if (statusOf(thrown) !== undefined) return refusalIn(thrown)
  incoming.log.info({ err: thrown }, 'credentials were refused')
  return problem('unauthenticated')
}

/** What was thrown, where it tells a client something; a fault goes on. */
function refusalIn (thrown: unknown): unknown {
  if ((statusOf(thrown) ?? 500) >= 500) throw thrown
  return thrown
}

/** Who is calling, and what keeps the caller from the action; undefined where nothing does. */
export async function judge (guard: Guard, action: ActionName, incoming: Incoming): Promise<Identified> {
  const rule = guard.rules[action]
  const { caller, refusal } = await identify(guard, incoming)
  // Bad credentials are as good as none where none are needed.
  if (rule === 'public') return { caller, refusal: undefined }
  if (refusal !== undefined) return { caller, refusal }
  let verdict: unknown
  try {
    verdict = rule === 'authenticated' ? caller !== undefined : await rule(incoming, action, caller)
  } catch (thrown) {
    return { caller, refusal: refusalIn(thrown) }
  }
  if (verdict === true) return { caller, refusal: undefined }
  if (verdict === 'hidden') return { caller, refusal: problem('not-found') }
  return { caller, refusal: problem(caller === undefined && guard.authentication !== undefined ? 'unauthenticated' : 'forbidden') }
}

/** Who is calling; throws what keeps the caller from the action. */
export async function admitted ({ guard }: Guarded, action: ActionName, incoming: Incoming): Promise<string | undefined> {
  if (guard === undefined) return undefined
  const { caller, refusal } = await judge(guard, action, incoming)
  if (refusal !== undefined) throw refusal
  return caller
}

/** Whether the caller may do it; what is not served is refused to nobody. */
export async function may ({ actions, guard }: Guarded, action: ActionName, incoming: Incoming): Promise<boolean> {
  return guard === undefined || !actions.has(action) || (await judge(guard, action, incoming)).refusal === undefined
}

/** Who is calling, where the caller may do it; undefined where not. */
export async function reader (guarded: Guarded, incoming: Incoming): Promise<{ readonly caller: string | undefined } | undefined> {
  if (guarded.guard === undefined) return nobody
  const judgement = await judge(guarded.guard, 'read', incoming)
  return judgement.refusal === undefined ? judgement : undefined
}

/**
 * The actions of a collection that the caller of a request may do.
 *
 * @example
 * const actions = await permitted(users, request)
 * if (actions.has('create')) showButton()
 */
export async function permitted (definition: Definition, incoming: Incoming): Promise<ReadonlySet<ActionName>> {
  const collection = toCollection(definition)
  const { actions, guard, parent } = collection
  if (parent !== undefined && !await may(parent.collection, 'read', incoming)) return new Set()
  if (guard === undefined) return actions
  const allowed = await Promise.all([...actions].map(async action => await may(collection, action, incoming) ? [action] : []))
  return new Set(allowed.flat())
}

/** What was found out of the caller before the content was read. */
export interface Grant {
  readonly caller: string | undefined
  /** Whether the caller may read what it has written. */
  readonly shown: boolean
  readonly scope: Scope | undefined
  /** The properties that the caller does not see. */
  readonly hidden: Hidden | undefined
  /** Of the parent's rows. */
  readonly parents: Scope | undefined
}

const grants = new WeakMap<Request['original'], Grant>()

/** Whether anything must be found out. */
export function isGuarded ({ guard, parent }: Collection): boolean {
  return guard !== undefined || parent?.collection.guard !== undefined
}

/** Whether it can be found out of an OPTIONS, for which the hooks of routes, where an app may know its callers by, are not asked. */
export function isShaped ({ guard, parent }: Collection): boolean {
  const guards = [guard, parent?.collection.guard].filter(guard => guard !== undefined)
  return guards.length > 0 && guards.every(({ authentication }) => authentication !== undefined)
}

/** Where the answers of an action depend on who asks, each is as one to credentials. */
export function policyOf ({ guard, parent, cache }: Collection, action: ActionName): CachePolicy {
  const policy = action === 'list' ? cache.list : cache.read
  return isPersonal(guard, action) || isPersonal(parent?.collection.guard, 'read') ? { ...policy, closed: true } : policy
}

/** The request fields that an answer with this policy depends on, where somebody may keep it. */
export function variedBy ({ guard, parent }: Collection, { closed, credentialed }: CachePolicy): readonly string[] {
  if (closed !== true || credentialed === 'no-store') return []
  return [guard, parent?.collection.guard].flatMap(guard => guard === undefined ? [] : guard.authentication?.fields ?? credentialFields)
}

export function grantOf (incoming: Request['original']): Grant | undefined {
  return grants.get(incoming)
}

/** 401, 403 and 404 before content is read: who may not see the parent, sees nothing that lies in it. */
export function admitCaller (collection: Collection, action: ActionName): onRequestAsyncHookHandler {
  const { parent } = collection
  const reads = action === 'list' || action === 'read'
  return async function (incoming) {
    const parents = parent && await scopeOf(parent.collection, { action: 'read', incoming, caller: await admitted(parent.collection, 'read', incoming) })
    const caller = await admitted(collection, action, incoming)
    const scope = await scopeOf(collection, { action, incoming, caller })
    grants.set(incoming, { caller, shown: reads || await may(collection, 'read', incoming), scope, hidden: await hiddenFrom(collection, { incoming, caller }), parents })
  }
}
