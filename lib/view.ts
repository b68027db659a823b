import { hash } from 'node:crypto'
import type { Answer } from './answer.ts'
import type { Collection } from './definition.ts'
import { without } from './schema/marks.ts'
import type { Entry } from './storage/contract.ts'

/** What the caller sees of items. */
export type Sight = Pick<Collection, 'members' | 'hidden'>

/** The entries that items refer to, by their ids, and what the caller sees of them. */
export interface Relatives {
  readonly sight: Sight
  readonly entries: ReadonlyMap<unknown, Entry<object>>
}

/** By relation. */
export type Expansion = ReadonlyMap<string, Relatives>

/** How a client wants to see items, other than as they are. */
export interface View {
  /** Only these members. */
  readonly fields: readonly string[] | undefined
  /** With what they refer to. */
  readonly expansion: Expansion | undefined
  /** Whether that depends on who asks. */
  readonly personal: boolean
}

/** An answer of what is seen so. */
export function answered (view: View | undefined, answer: Answer): Answer {
  return view?.personal === true ? { ...answer, personal: true } : answer
}

/** What may leave of an item. */
export function visible ({ members }: Sight, entry: Entry<object>): object {
  // Of an object, `without` makes an object.
  return without(entry.item, members, 'writeOnly') as object
}

const digests = new WeakMap<Sight['members'], WeakMap<Entry<object>, string>>()

/** The version of what the caller sees: where a member is hidden, it does not tell when that changed. */
export function versionOf (sight: Sight, entry: Entry<object>): string {
  if (sight.hidden === undefined) return entry.version
  let known = digests.get(sight.members)
  if (known === undefined) digests.set(sight.members, known = new WeakMap())
  let digest = known.get(entry)
  if (digest === undefined) known.set(entry, digest = hash('sha1', JSON.stringify(visible(sight, entry)), 'base64url'))
  return digest
}

export function seen (collection: Collection, entry: Entry<object>, { fields, expansion }: View): object {
  const item = visible(collection, entry)
  const picked = fields === undefined ? item : Object.fromEntries(Object.entries(item).filter(([name]) => fields.includes(name)))
  if (expansion === undefined) return picked
  const related = [...expansion].map(([name]) => {
    const [sight, found] = relatedTo(collection, entry, [name, expansion])
    return [name, found === undefined ? null : visible(sight, found)]
  })
  return { ...picked, ...Object.fromEntries(related) }
}

/** Another view is another representation, with a version of its own. */
export function versionSeen (collection: Collection, entry: Entry<object>, { fields, expansion }: View): string {
  const related = [...expansion ?? []].map(([name]) => {
    const [sight, found] = relatedTo(collection, entry, [name, expansion!])
    return `+${name} ${found === undefined ? '' : `${versionOf(sight, found)}.${collection.relations[name]!.collection.digest}`}`
  })
  return `${versionOf(collection, entry)}${fields === undefined ? '' : `~${fields.join()}`}${related.join('')}`
}

function relatedTo ({ relations }: Collection, { item }: Entry<object>, [name, expansion]: [string, Expansion]): [Sight, Entry<object> | undefined] {
  const { sight, entries } = expansion.get(name)!
  return [sight, entries.get(Reflect.get(item, relations[name]!.member))]
}
