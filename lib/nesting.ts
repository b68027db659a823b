import { checkHooks } from './checks.ts'
import type { Collection, Parent } from './definition.ts'
import { BadOption, Unsupported } from './errors.ts'
import { checkCache, isPersonal } from './guard.ts'
import { stated } from './http/cache-control.ts'
import { problem } from './http/problems.ts'
import type { Problem } from './http/problems.ts'
import { scopedBy } from './narrowing.ts'
import { remembered } from './remembered.ts'
import type { Request } from './request.ts'
import type { MemberOf } from './schema/static.ts'
import type { Filter, Id } from './storage/contract.ts'

/** A collection as it is served within the items of another: `/users/{id}/articles`, by the member that names the user. */
export function within<Item extends object> (parent: Collection, child: Collection<Item>, member: MemberOf<Item>): Collection<Item> {
  const known = [...child.members.named.keys()]
  if (!known.includes(member)) throw new BadOption(child.name, `within() names the member "${member}", which is not in the schema. Its members are: ${known.join(', ')}.`)
  if (!child.storage.supports.filter) throw new Unsupported(child.name, 'it is nested in another collection', child.storage.name)
  if (isPersonal(parent.guard, 'read')) for (const action of ['list', 'read'] as const) checkCache(child.name, action, stated(child.cache[action]))
  checkHooks(child, parent, 'within()')
  return Object.freeze({ ...child, written: remembered(child.formats), parent: { collection: parent, member } })
}

/** The path of the item in which a collection lies, below the prefix; empty where it lies in none. */
export function pathOfParent ({ parent }: Collection): string {
  return parent === undefined ? '' : `/${parent.collection.name}/:parent`
}

export function pathOfCollection (collection: Collection): string {
  return `${pathOfParent(collection)}/${collection.name}`
}

/** What the URI says of the items below it. */
export interface Place {
  readonly fixed: Readonly<Record<string, Id>>
  readonly scope: Filter
}

/** Undefined where the collection lies in no other; 404 where no parent can be called so. */
export function placeOf ({ parent }: Collection, parameters: unknown): Place | Problem | undefined {
  if (parent === undefined) return undefined
  const id = parent.collection.id.read((parameters as { parent: string }).parent)
  if (id === undefined) return problem('absent')
  return { fixed: { [parent.member]: id }, scope: { member: parent.member, is: 'eq', value: id } }
}

/** 404 where the parent does not exist, or not for the caller: what lies in it does not either. The scope is that of the parent's rows. */
export async function checkParent ({ collection, member }: Parent, { fixed, context }: Request, scope: Filter | undefined): Promise<Problem | undefined> {
  const entry = await collection.storage.find(fixed![member]!, scopedBy(scope, context))
  return entry === undefined ? problem('absent') : undefined
}
