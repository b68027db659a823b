import type { FastifyRequest } from 'fastify'
import type { ActionName, AnyActionName } from '../action.ts'
import { toCollection } from '../collection.ts'
import type { Collection, Definition } from '../collection.ts'
import { getStatus, isUnreachable, ProblemError } from '../../errors/failure.ts'
import { isPrivate } from '../../http/cache-control.ts'
import type { CachePolicy } from '../../http/cache-control.ts'
import { isObject } from '../../http/json-value.ts'
import { Problem, problem } from '../../http/problems.ts'
import type { Caller } from './caller.ts'
import { getState } from '../../doors/http/request-state.ts'
import type { Authorization, Identified } from '../../doors/http/request-state.ts'
import { dependsOnCaller } from './rules.ts'
import type { AccessContext, AccessRules, Authenticate, Protected, Rule } from './rules.ts'
import { readScope } from './scope.ts'
import type { Scope } from './scope.ts'
import { findHidden } from './visible.ts'

type Incoming = FastifyRequest

const anonymous: Identified = Object.freeze({ caller: undefined, refusal: undefined })

function identify ({ authenticate }: AccessRules, incoming: Incoming): Promise<Identified> | Identified {
  if (authenticate === undefined) return anonymous
  const callers = getState(incoming).callers ??= new Map()
  let result = callers.get(authenticate)
  if (result === undefined) callers.set(authenticate, result = callAuthenticate(authenticate, incoming))
  return result
}

/**
 * A part of a batch has a request of its own, and the caller of the batch. That is identified by the request of the
 * batch: the method and the URI of one part say nothing about the others, and what the function sets on the request is
 * there for all of them.
 */
export async function shareCallers (
  { access, attached: { parent } }: Collection,
  from: Incoming,
  to: Incoming
): Promise<void> {
  for (const rules of [access, parent?.collection.access]) {
    if (rules !== undefined) await identify(rules, from)
  }
  getState(to).callers = getState(from).callers ??= new Map()
}

async function callAuthenticate (authenticate: Authenticate, incoming: Incoming): Promise<Identified> {
  let caller: unknown
  try {
    caller = await authenticate({ request: incoming })
  } catch (thrown) {
    return { caller: undefined, refusal: toCredentialRefusal(thrown, incoming) }
  }
  if (caller === undefined || caller === null || caller === '') return anonymous
  return { caller: checkCaller(caller), refusal: undefined }
}

/** Idempotency keys and caches tell callers apart, so each needs an id. */
function checkCaller (caller: unknown): Caller {
  if (typeof caller === 'string') return caller
  const id = isObject(caller) ? caller.id : undefined
  // The app has declared the type of what it returns.
  if (typeof id === 'number' || (typeof id === 'string' && id !== '')) return caller as unknown as Caller
  const given = isObject(caller) ? 'an object without an id' : `a ${typeof caller}`
  throw new TypeError(`access.authenticate returned ${given}. ` +
    'Return a string that identifies the caller, or an object with an id.')
}

/**
 * An error without an HTTP status is about the credentials, and its message is not meant for clients. So is the refusal
 * of a call, such as one that reads a session that does not exist.
 */
function toCredentialRefusal (thrown: unknown, incoming: Incoming): unknown {
  // Whether the credentials are valid is not known then.
  if (isUnreachable(thrown)) throw thrown
  const isRefusedCall = thrown instanceof ProblemError && thrown.statusCode < 500
  if (getStatus(thrown) !== undefined && !isRefusedCall) return toRefusal(thrown)
  incoming.log.info({ err: thrown }, 'the credentials were refused')
  return problem('unauthenticated')
}

/** Returns a client error that a rule has thrown; throws any other again. */
function toRefusal (thrown: unknown): unknown {
  if ((getStatus(thrown) ?? 500) >= 500) throw thrown
  return thrown instanceof ProblemError ? problem('forbidden') : thrown
}

/** Identifies the caller and applies the rule of the action. The refusal is undefined if the caller may go on. */
export async function evaluateAccess (
  access: AccessRules,
  action: AnyActionName,
  incoming: Incoming
): Promise<Identified> {
  const { caller, refusal } = await identify(access, incoming)
  // If none are needed, invalid credentials are treated as none.
  if (access.allow[action] === 'public') return { caller, refusal: undefined }
  if (refusal !== undefined) return { caller, refusal }
  return { caller, refusal: await evaluateActionRule(access, { caller, action, request: incoming }) }
}

/** Applies the rule of the action to a caller. Returns the refusal; undefined if the caller may go on. */
function evaluateActionRule (access: AccessRules, context: AccessContext): Promise<unknown> {
  // Definitions have a rule for each action.
  return evaluateRule(access.allow[context.action]!, access, context)
}

/** Applies a rule to a caller. Returns the refusal; undefined if the caller may go on. */
export async function evaluateRule (
  rule: Rule,
  access: Pick<AccessRules, 'authenticate'> | undefined,
  context: AccessContext
): Promise<unknown> {
  if (rule === 'public') return undefined
  let verdict: unknown
  try {
    verdict = rule === 'authenticated' ? context.caller !== undefined : await rule(context)
  } catch (thrown) {
    return toRefusal(thrown)
  }
  if (verdict === true) return undefined
  if (verdict === 'hidden') return problem('not-found')
  const needsCredentials = context.caller === undefined && access?.authenticate !== undefined
  return problem(needsCredentials ? 'unauthenticated' : 'forbidden')
}

type CallAuthorization = Pick<Authorization, 'caller' | 'scope' | 'conditionScope' | 'hidden'>

interface CalledActions {
  readonly action: AnyActionName
  /** An action that the caller must be allowed to call as well. */
  readonly other: AnyActionName | undefined
}

/**
 * What a caller may do and see if code of the app calls the action on its behalf; throws if it may not call it, or may
 * not read the collection that this one is nested in.
 */
export async function authorizeCall (
  collection: Collection,
  actions: CalledActions,
  caller: Caller | undefined
): Promise<CallAuthorization & Pick<Authorization, 'parentScope'>> {
  const { parent } = collection.attached
  const outer = parent && await authorizeCallAlone(parent.collection, { action: 'read', other: undefined }, caller)
  return { ...await authorizeCallAlone(collection, actions, caller), parentScope: outer?.scope }
}

/** The same by the rules of the collection alone. */
export async function authorizeCallAlone (
  collection: Collection,
  { action, other }: CalledActions,
  caller: Caller | undefined
): Promise<CallAuthorization> {
  const { access } = collection
  const context = { caller, action, request: undefined }
  const otherContext = other && { ...context, action: other }
  for (const called of [context, otherContext]) {
    const refusal = access && called && await evaluateActionRule(access, called)
    if (refusal !== undefined) throw refusal
  }
  return {
    caller,
    scope: await readScope(collection, context),
    conditionScope: otherContext && await readScope(collection, otherContext),
    hidden: await findHidden(collection, context)
  }
}

/** Whether a caller may call an action from code. */
export async function isCallAllowed (
  { access }: Protected,
  action: ActionName,
  caller: Caller | undefined
): Promise<boolean> {
  return access === undefined || await evaluateActionRule(access, { caller, action, request: undefined }) === undefined
}

/** Returns the caller; throws if it may not call the action. */
async function requireAccess (
  { access }: Protected,
  action: AnyActionName,
  incoming: Incoming
): Promise<Caller | undefined> {
  if (access === undefined) return undefined
  const { caller, refusal } = await evaluateAccess(access, action, incoming)
  if (refusal !== undefined) throw refusal
  return caller
}

/** Whether rules can return `'hidden'` for all of these actions. */
export function canHide ({ access }: Protected, actions: readonly AnyActionName[]): boolean {
  return access !== undefined && actions.length > 0 && actions.every((action) => {
    return typeof access.allow[action] === 'function'
  })
}

/**
 * Whether the rules hide all of these actions from the caller: then the resource does not exist for it. A rule that
 * fails hides nothing: it may need what hooks in `routes` set, which do not run for OPTIONS and 405.
 */
export async function isHidden (
  { access }: Protected,
  actions: readonly AnyActionName[],
  incoming: Incoming
): Promise<boolean> {
  try {
    for (const action of actions) {
      const { refusal } = await evaluateAccess(access!, action, incoming)
      if (!(refusal instanceof Problem && refusal.name === 'not-found')) return false
    }
    return true
  } catch {
    return false
  }
}

/** Whether the caller may call an action. Actions that are not served are not refused here. */
export async function isAllowed (
  { actions, access }: Protected,
  action: ActionName,
  incoming: Incoming
): Promise<boolean> {
  if (access === undefined || !actions.has(action)) return true
  return (await evaluateAccess(access, action, incoming)).refusal === undefined
}

/** The caller if it may read items; undefined if not. */
export async function findReader (
  { access }: Protected,
  incoming: Incoming
): Promise<{ readonly caller: Caller | undefined } | undefined> {
  if (access === undefined) return anonymous
  const result = await evaluateAccess(access, 'read', incoming)
  return result.refusal === undefined ? result : undefined
}

/**
 * Returns the actions of a collection that the caller of a request is allowed to call, custom ones included.
 *
 * @example
 * const actions = await allowedActions(users, request)
 * if (actions.has('create')) showButton()
 */
export async function allowedActions (definition: Definition, request: Incoming): Promise<ReadonlySet<AnyActionName>> {
  return findAllowedActions(toCollection(definition), request)
}

/** The same. `known` are the custom actions on items whose rules have been evaluated already, and allow the caller. */
export async function findAllowedActions (
  { actions, access, attached }: Collection,
  request: Incoming,
  known?: ReadonlySet<string>
): Promise<ReadonlySet<AnyActionName>> {
  const { parent } = attached
  if (parent !== undefined && !await isAllowed(parent.collection, 'read', request)) return new Set()
  const custom = [...attached.actions.values()]
  if (access === undefined) return new Set([...actions, ...custom.map(({ name }) => name)])
  const unknown = known === undefined ? custom : custom.filter(({ at }) => at === 'collection')
  const allowed = await findAllowed(access, [...actions, ...unknown.map(({ name }) => name)], request)
  return known === undefined ? allowed : new Set([...allowed, ...known])
}

/** Returns those of the actions that the caller may call. */
export async function findAllowed (
  access: AccessRules,
  names: readonly AnyActionName[],
  incoming: Incoming
): Promise<Set<AnyActionName>> {
  const allowed = await Promise.all(names.map(async (action) => {
    return (await evaluateAccess(access, action, incoming)).refusal === undefined ? [action] : []
  }))
  return new Set(allowed.flat())
}

/** Returns the custom actions on items if their links depend on the caller: not everyone may call them all. */
export function getDependentActions ({ access, attached, http }: Collection): readonly string[] | undefined {
  if (access === undefined || http.formats.every(({ hasLinks }) => hasLinks === false)) return undefined
  const names = [...attached.actions.values()].filter(({ at }) => at === 'item').map(({ name }) => name)
  return names.some((name) => access.allow[name] !== 'public') ? names : undefined
}

/** The access rules of a collection, and of the one that it is nested in. */
interface ProtectedPlace {
  readonly access: AccessRules | undefined
  readonly attached: Pick<Collection['attached'], 'parent'>
}

/** Whether requests have to be authorized at all. */
export function isProtected ({ access, attached: { parent } }: ProtectedPlace): boolean {
  return access !== undefined || parent?.collection.access !== undefined
}

/**
 * Whether the caller of an OPTIONS request can be identified: hooks in `routes`, by which an app may know its callers,
 * do not run for it.
 */
export function canIdentify ({ access, attached: { parent } }: Collection): boolean {
  const rules = [access, parent?.collection.access].filter((rules) => rules !== undefined)
  return rules.length > 0 && rules.every(({ authenticate }) => authenticate !== undefined)
}

/**
 * If responses of an action depend on the caller, all of them have the policy of responses to credentials. A custom
 * action may depend on it whatever its rule is, because it knows the caller; and `cache` was only checked for reads.
 */
export function getCachePolicy (collection: Collection, action: AnyActionName): CachePolicy {
  const { access, http: { cache }, attached } = collection
  const { parent } = attached
  const policy = action === 'list' ? cache.list : cache.read
  const isCustom = attached.actions.has(action)
  const isDependent = dependsOnCaller(access, action) ||
    dependsOnCaller(parent?.collection.access, 'read') ||
    (isCustom && access?.authenticate !== undefined)
  if (!isDependent) return policy
  const isShared = isCustom && !isPrivate(policy.withCredentials)
  return { ...policy, ...isShared && { withCredentials: 'no-store' }, dependsOnCaller: true }
}

/** The request headers that a response with this policy depends on, if it may be stored at all. */
export function getVaryHeaders (
  { access, attached: { parent } }: Collection,
  { dependsOnCaller, withCredentials }: CachePolicy
): readonly string[] {
  if (dependsOnCaller !== true || withCredentials === 'no-store') return []
  return [access, parent?.collection.access].flatMap((rules) => rules?.vary ?? [])
}

/**
 * Authorizes the caller of a request. Throws 401, 403 or 404; a caller that may not see the parent sees nothing nested
 * in it. `other` is an action that the caller must be allowed to call as well.
 */
export function authorize (
  collection: Collection,
  action: AnyActionName,
  other?: AnyActionName
): (incoming: Incoming) => Promise<Authorization> {
  const { attached: { parent } } = collection
  const reads = action === 'list' || action === 'read'
  return async function (incoming) {
    const parentScope = parent && await findParentScope(parent.collection, incoming)
    const caller = await requireAccess(collection, action, incoming)
    if (other !== undefined) await requireAccess(collection, other, incoming)
    const scope = await readScope(collection, { caller, action, request: incoming })
    const conditionScope = other && await readScope(collection, { caller, action: other, request: incoming })
    const canRead = reads || await isAllowed(collection, 'read', incoming)
    const hidden = await findHidden(collection, { caller, request: incoming })
    return { caller, canRead, scope, conditionScope, hidden, parentScope }
  }
}

async function findParentScope (parent: Collection, incoming: Incoming): Promise<Scope | undefined> {
  const caller = await requireAccess(parent, 'read', incoming)
  return readScope(parent, { caller, action: 'read', request: incoming })
}
