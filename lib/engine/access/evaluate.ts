import type { FastifyRequest } from 'fastify'
import { Problem, problem } from '../../http/problems.ts'
import type { ActionName, AnyActionName } from '../action.ts'
import { toCollection } from '../collection.ts'
import type { Collection, Definition } from '../collection.ts'
import type { Caller } from './caller.ts'
import { identify, toRefusal } from './identify.ts'
import type { Identified } from './identify.ts'
import type { AccessContext, AccessRules, Protected, Rule } from './rules.ts'

// Whether a caller may do something: what `access.allow` says, for all doors.

/** Who calls: the client of the request or, without one, the caller that code names. An operation is one. */
export interface Source {
  readonly caller: Caller | undefined
  readonly request: FastifyRequest | undefined
}

export function fromRequest (request: FastifyRequest): Source {
  return { caller: undefined, request }
}

/** Identifies the caller and applies the rule of the action. The refusal is undefined if the caller may go on. */
export async function evaluateAccess (access: AccessRules, action: AnyActionName, source: Source): Promise<Identified> {
  const { request } = source
  const { caller, refusal } = request === undefined
    ? { caller: source.caller, refusal: undefined }
    : await identify(access, request)
  // Definitions have a rule for each action.
  const rule = access.allow[action]!
  // If none are needed, invalid credentials are treated as none.
  if (rule === 'public') return { caller, refusal: undefined }
  if (refusal !== undefined) return { caller, refusal }
  return { caller, refusal: await evaluateRule(rule, access, { caller, action, request }) }
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
  source: Source
): Promise<boolean> {
  try {
    for (const action of actions) {
      const { refusal } = await evaluateAccess(access!, action, source)
      if (!(refusal instanceof Problem && refusal.name === 'not-found')) return false
    }
    return true
  } catch {
    return false
  }
}

/** Whether the caller may call an action. */
export async function isAllowed ({ access }: Protected, action: ActionName, source: Source): Promise<boolean> {
  return access === undefined || (await evaluateAccess(access, action, source)).refusal === undefined
}

/**
 * Returns the actions of a collection that the caller of a request is allowed to call, custom ones included.
 *
 * @example
 * const actions = await allowedActions(users, request)
 * if (actions.has('create')) showButton()
 */
export async function allowedActions (
  definition: Definition,
  request: FastifyRequest
): Promise<ReadonlySet<AnyActionName>> {
  return findAllowedActions(toCollection(definition), fromRequest(request))
}

/** The same. `known` are the custom actions on items whose rules have been evaluated already, and allow the caller. */
export async function findAllowedActions (
  { actions, access, attached: { actions: customActions, parent } }: Collection,
  source: Source,
  known?: ReadonlySet<string>
): Promise<ReadonlySet<AnyActionName>> {
  if (parent !== undefined && !await canReadServed(parent.collection, source)) return new Set()
  const custom = [...customActions.values()]
  if (access === undefined) return new Set([...actions, ...custom.map(({ name }) => name)])
  const unknown = known === undefined ? custom : custom.filter(({ at }) => at === 'collection')
  const allowed = await findAllowed(access, [...actions, ...unknown.map(({ name }) => name)], source)
  return known === undefined ? allowed : new Set([...allowed, ...known])
}

/** Whether the caller may read an item. If items are not served, no rule says that it may not. */
export async function canReadServed (collection: Protected, source: Source): Promise<boolean> {
  return !collection.actions.has('read') || isAllowed(collection, 'read', source)
}

/** Returns those of the actions that the caller may call. */
export async function findAllowed (
  access: AccessRules,
  names: readonly AnyActionName[],
  source: Source
): Promise<Set<AnyActionName>> {
  const allowed = await Promise.all(names.map(async (action) => {
    return (await evaluateAccess(access, action, source)).refusal === undefined ? [action] : []
  }))
  return new Set(allowed.flat())
}
