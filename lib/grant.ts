import type { onRequestAsyncHookHandler } from 'fastify'
import { admitted, may } from './access.ts'
import type { ActionName } from './action-names.ts'
import type { Collection } from './definition.ts'
import { credentialFields, isPersonal } from './guard.ts'
import type { CachePolicy } from './http/cache-control.ts'
import type { Request } from './request.ts'
import { scopeOf } from './scope.ts'
import type { Scope } from './scope.ts'
import { hiddenFrom } from './visibility.ts'
import type { Hidden } from './visibility.ts'

/** What was found out of the caller before the content was read. */
export interface Grant {
  readonly caller: string | undefined
  /** Whether the caller may read what it has written. */
  readonly shown: boolean
  readonly scope: Scope | undefined
  /** The members that the caller does not see. */
  readonly hidden: Hidden | undefined
  /** Of the parent's rows. */
  readonly parents: Scope | undefined
}

const grants = new WeakMap<Request['original'], Grant>()

/** Whether anything has to be found out. */
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
