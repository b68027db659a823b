import { isPrivate } from '../../http/cache-control.ts'
import type { CachePolicy } from '../../http/cache-control.ts'
import type { AnyActionName } from '../action.ts'
import type { Collection } from '../collection.ts'
import { dependsOnCaller } from './rules.ts'
import type { AccessRules } from './rules.ts'

// What depends on the caller: known at boot, and said to caches.

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
