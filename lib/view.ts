import type { Collection } from './definition.ts'
import type { Related } from './options.ts'
import { without } from './schema/marks.ts'
import type { Entry } from './storage/contract.ts'

/** By relation, the entries that items refer to, by their ids. */
export type Expansion = ReadonlyMap<string, ReadonlyMap<unknown, Entry<object>>>

/** How a client wants to see items, other than as they are. */
export interface View {
  /** Only these members. */
  readonly fields: readonly string[] | undefined
  /** With what they refer to. */
  readonly expansion: Expansion | undefined
}

/** What may leave of an item. */
export function visible (collection: Pick<Collection, 'members'>, entry: Entry<object>): object {
  // Of an object, `without` makes an object.
  return without(entry.item, collection.members, 'writeOnly') as object
}

export function seen (collection: Collection, entry: Entry<object>, { fields, expansion }: View): object {
  const item = visible(collection, entry)
  const picked = fields === undefined ? item : Object.fromEntries(Object.entries(item).filter(([name]) => fields.includes(name)))
  if (expansion === undefined) return picked
  const related = [...expansion].map(([name]) => {
    const [other, found] = relatedTo(collection, entry, [name, expansion])
    return [name, found === undefined ? null : visible(other, found)]
  })
  return { ...picked, ...Object.fromEntries(related) }
}

/** Another view is another representation, with a version of its own. */
export function versionSeen (collection: Collection, entry: Entry<object>, { fields, expansion }: View): string {
  const related = [...expansion ?? []].map(([name]) => `+${name} ${relatedTo(collection, entry, [name, expansion!])[1]?.version ?? ''}`)
  return `${entry.version}${fields === undefined ? '' : `~${fields.join()}`}${related.join('')}`
}

function relatedTo ({ relations }: Collection, { item }: Entry<object>, [name, expansion]: [string, Expansion]): [Related, Entry<object> | undefined] {
  const { collection, member } = relations[name]!
  return [collection, expansion.get(name)?.get(Reflect.get(item, member))]
}
