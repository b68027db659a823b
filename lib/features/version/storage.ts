import { shortDigest } from '../../response/tag-suffix.ts'
import { wrapStorage } from '../../storage/wrap-storage.ts'
import type { Context, Entry, Filter, Query, Refusal, Storage, Version } from '../../storage/contract.ts'
import { withScope } from '../../storage/filter.ts'
import { getRefusal } from '../../response/refusal.ts'

// The storage of one version of a collection, seen as the storage of another.

/** How items, and the names of their properties, are told from one version to the other. */
export interface Translation<Item, Old> {
  /** Stands in the versions of entries, so that no entity tag of one is one of the other. */
  readonly label: string
  readonly present: (item: Readonly<Item>) => Old
  /** By the name of an older property, the current one; each is called as it was unless it stands here. */
  readonly renamed: Readonly<Record<string, string | undefined>>
}

/** What stands behind what a client of the older version sees and sends. */
export interface Origins<Item> {
  /** By an item that was presented. */
  readonly entry: WeakMap<object, Entry<Item>>
  /** By an item that is on its way in. */
  readonly draft: WeakMap<object, Item>
}

export function versionedStorage<Item extends object, Old extends object> (storage: Storage<Item>, translation: Translation<Item, Old>, origins: Origins<Item>): Storage<Old> {
  const { label, present, renamed } = translation
  // Items that are presented otherwise are other representations.
  const suffix = `~${label}.${shortDigest(String(present))}`
  const seen = new WeakMap<Entry<Item>, Entry<Old>>()
  const original = new Map(Object.entries(renamed).map(([old, property]) => [property, old]))

  /** The same for the same frozen one, so that what was written of it once can be sent again. */
  function presented (entry: Entry<Item>): Entry<Old> {
    const known = seen.get(entry)
    if (known !== undefined) return known
    const item = present(entry.item)
    const told = { ...entry, item, version: entry.version + suffix }
    origins.entry.set(item, entry)
    if (Object.isFrozen(entry)) seen.set(entry, Object.freeze(told))
    return told
  }

  function result (outcome: Entry<Item> | Refusal): Entry<Old> | Refusal {
    return 'refused' in outcome ? refusal(outcome) : presented(outcome)
  }

  function refusal (given: Refusal): Refusal {
    return 'properties' in given ? { ...given, properties: given.properties.map(property => original.get(property) ?? property) } : given
  }

  /** A transaction that was refused as a whole names the older properties. */
  function translatedError (thrown: unknown): unknown {
    const given = getRefusal(thrown)
    return given === undefined ? thrown : Object.assign(new Error('The transaction was refused', { cause: thrown }), { refusal: refusal(given) })
  }

  const own = (version: Version | undefined): Version | undefined => version?.slice(0, -suffix.length)
  const scoped = (context: Context): Context => context.scope === undefined ? context : withScope(translated(context.scope, renamed), context)

  const older = wrapStorage<Item, Old>(storage, kept => ({
    async list (query, context) {
      const page = await kept.list(translatedQuery(query, renamed), scoped(context))
      return { ...page, entries: page.entries.map(presented) }
    },
    async find (id, context) {
      const entry = await kept.find(id, scoped(context))
      return entry && presented(entry)
    },
    // What comes in has been made of its older form before.
    insert: async (draft, context) => result(await kept.insert(origins.draft.get(draft)!, scoped(context))),
    replace: async (id, item, expected, context) => result(await kept.replace(id, origins.draft.get(item)!, own(expected), scoped(context))),
    remove: (id, expected, context) => kept.remove(id, own(expected), scoped(context))
  }))
  const refuse = (thrown: unknown): never => { throw translatedError(thrown) }
  return {
    ...older,
    ...older.transaction && { transaction: work => older.transaction!(work).catch(refuse) },
    ...older.exclusive && { exclusive: work => older.exclusive!(work).catch(refuse) }
  }
}

/** Of a property within a property, the outer one has the name. */
export function propertyIn (renamed: Translation<never, never>['renamed'], property: string): string {
  const [outer = '', ...inner] = property.split('.')
  return [renamed[outer] ?? outer, ...inner].join('.')
}

function translated (filter: Filter, renamed: Translation<never, never>['renamed']): Filter {
  if ('all' in filter) return { all: filter.all.map(part => translated(part, renamed)) }
  if ('any' in filter) return { any: filter.any.map(part => translated(part, renamed)) }
  if ('not' in filter) return { not: translated(filter.not, renamed) }
  return { ...filter, property: propertyIn(renamed, filter.property) }
}

/** To present an item takes all of it. */
function translatedQuery ({ filter, search, order, ...query }: Query, renamed: Translation<never, never>['renamed']): Query {
  return {
    ...query,
    filter: filter && translated(filter, renamed),
    search: search && { ...search, properties: search.properties.map(property => propertyIn(renamed, property)) },
    order: order.map(by => ({ ...by, property: propertyIn(renamed, by.property) })),
    properties: undefined
  }
}
