import type { AnyActionName } from '../action.ts'
import type { Collection } from '../collection.ts'
import { getAppView, getView } from '../view.ts'
import type { View } from '../view.ts'
import type { Access } from './access.ts'
import type { Caller } from './caller.ts'
import { canReadServed, evaluateAccess, isAllowed } from './evaluate.ts'
import type { Source } from './evaluate.ts'
import { readScope } from './scope.ts'
import type { Scope } from './scope.ts'
import { findHidden } from './visible.ts'

// What a caller may do and see, for every door and for related collections.

/** Why a caller may not: a problem, or a client error that a function of the app has thrown. */
export class Refused {
  readonly reason: unknown

  constructor (reason: unknown) {
    this.reason = reason
  }
}

interface Wanted {
  /** The action, and others that the caller must be allowed to call as well: an entry of the table. */
  readonly rules: readonly [AnyActionName, ...AnyActionName[]]
  /** False if the collection is not asked as one that is nested. */
  readonly isNested?: boolean
}

/** What everyone may do and see of a collection without rules. */
export function getOpenAccess (collection: Collection): Access {
  return toOpenAccess(getView(collection), false)
}

/** The app itself may do everything. */
export function getAppAccess (collection: Collection): Access {
  return toOpenAccess(getAppView(collection), true)
}

function toOpenAccess (view: View, isApp: boolean): Access {
  return {
    isApp,
    caller: undefined,
    view,
    canRead: true,
    canCreate: true,
    scope: undefined,
    conditionScope: undefined,
    parentScope: undefined
  }
}

/** Decides what a caller may do and see. A caller that may not see the parent sees nothing that is nested in it. */
export async function authorize (
  collection: Collection,
  { rules, isNested = true }: Wanted,
  source: Source
): Promise<Access | Refused> {
  const { attached: { parent }, put } = collection
  const outer = isNested ? parent && await decide(parent.collection, ['read'], source) : undefined
  if (outer instanceof Refused) return outer
  const own = await decide(collection, rules, source)
  if (own instanceof Refused) return own
  const { caller, scopes: [scope, conditionScope] } = own
  const { request } = source
  const [action] = rules
  const reads = action === 'list' || action === 'read'
  // Code that calls on behalf of a caller decides itself whom it shows what it has written.
  const canRead = reads || request === undefined || await canReadServed(collection, source)
  const canCreate = action === 'replace' && put.create && await isAllowed(collection, 'create', source)
  const view = getView(collection, await findHidden(collection, { caller, action, request }))
  return { isApp: false, caller, view, canRead, canCreate, scope, conditionScope, parentScope: outer?.scopes[0] }
}

interface Decided {
  readonly caller: Caller | undefined
  /** By action. */
  readonly scopes: ReadonlyArray<Scope | undefined>
}

/** Calls the rules of all actions, and then the scope of each. */
async function decide (
  collection: Collection,
  actions: readonly AnyActionName[],
  source: Source
): Promise<Decided | Refused> {
  const { access } = collection
  let { caller } = source
  for (const action of actions) {
    const result = access && await evaluateAccess(access, action, source)
    if (result?.refusal !== undefined) return new Refused(result.refusal)
    if (result !== undefined) ({ caller } = result)
  }
  const scopes: Array<Scope | undefined> = []
  for (const action of actions) scopes.push(await readScope(collection, { caller, action, request: source.request }))
  return { caller, scopes }
}

/** The same for doors, which refuse by throwing. */
export async function requireAccess (collection: Collection, wanted: Wanted, source: Source): Promise<Access> {
  const access = await authorize(collection, wanted, source)
  if (access instanceof Refused) throw access.reason
  return access
}
