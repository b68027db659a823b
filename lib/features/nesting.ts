import { checkHooks } from '../access/check-hooks.ts'
import type { Collection } from '../collection.ts'
import { BadOption, Unsupported } from '../errors.ts'
import { checkCache, isPersonal } from '../access/guard.ts'
import { stated } from '../http/cache-control.ts'
import { remembered } from '../formats/remembered.ts'
import type { MemberOf } from '../schema/static.ts'

/** A collection as it is served within the items of another: `/users/{id}/articles`, by the member that names the user. */
export function within<Item extends object> (parent: Collection, child: Collection<Item>, member: MemberOf<Item>): Collection<Item> {
  const known = [...child.members.named.keys()]
  if (!known.includes(member)) throw new BadOption(child.name, `within() names the member "${member}", which is not in the schema. Its members are: ${known.join(', ')}.`)
  if (!child.storage.supports.filter) throw new Unsupported(child.name, 'it is nested in another collection', child.storage.name)
  if (isPersonal(parent.guard, 'read')) for (const action of ['list', 'read'] as const) checkCache(child.name, action, stated(child.cache[action]))
  checkHooks(child, parent, 'within()')
  return Object.freeze({ ...child, written: remembered(child.formats), parent: { collection: parent, member } })
}
