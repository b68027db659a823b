import { shortDigest } from '../../schema/digest.ts'
import { wrapStorage } from '../../storage/wrap-storage.ts'
import type {
  AggregateQuery,
  Context,
  Entry,
  Filter,
  Order,
  Query,
  Refusal,
  RelatedRows,
  Storage,
  Version
} from '../../storage/contract.ts'
import { withScope } from '../../storage/filter.ts'
import { getRefusal } from '../../response/refusal.ts'

/** The current name of an older property. Properties that are not listed have the same name in both versions. */
export type Renamed = Readonly<Record<string, string | undefined>>

/** How items and the names of their properties are translated between two versions. */
interface Translation<Item, Old> {
  /** Part of the versions of entries, so that the two versions have no entity tag in common. */
  readonly label: string
  readonly present: (item: Readonly<Item>) => Old
  readonly renamed: Renamed
}

/** The current items behind those of the older version. */
export interface Origins<Item> {
  /** By an item that was presented to a client. */
  readonly entry: WeakMap<object, Entry<Item>>
  /** By an item that is about to be written. */
  readonly draft: WeakMap<object, Item>
}

/** Presents the storage of the current version as the storage of an older one. */
export function createVersionStorage<Item extends object, Old extends object> (
  storage: Storage<Item>,
  { label, present, renamed }: Translation<Item, Old>,
  origins: Origins<Item>
): Storage<Old> {
  // If `present` changes, so do the representations of all items.
  const suffix = `~${label}.${shortDigest(String(present))}`
  const presented = new WeakMap<Entry<Item>, Entry<Old>>()
  const oldNames = new Map(Object.entries(renamed).map(([old, property]) => [property, old]))

  /** Returns the same entry for the same frozen entry, so that its cached representation can be sent again. */
  function presentEntry (entry: Entry<Item>): Entry<Old> {
    const known = presented.get(entry)
    if (known !== undefined) return known
    const item = present(entry.item)
    const older = { ...entry, item, version: entry.version + suffix }
    origins.entry.set(item, entry)
    if (Object.isFrozen(entry)) presented.set(entry, Object.freeze(older))
    return older
  }

  function presentResult (result: Entry<Item> | Refusal): Entry<Old> | Refusal {
    return 'refused' in result ? translateRefusal(result) : presentEntry(result)
  }

  function translateRefusal (refusal: Refusal): Refusal {
    if (!('properties' in refusal)) return refusal
    return { ...refusal, properties: refusal.properties.map((property) => oldNames.get(property) ?? property) }
  }

  /** The error of a transaction that was refused as a whole names the older properties. */
  function throwTranslated (thrown: unknown): never {
    const refusal = getRefusal(thrown)
    if (refusal === undefined) throw thrown
    const error = new Error('The transaction was refused', { cause: thrown })
    throw Object.assign(error, { refusal: translateRefusal(refusal) })
  }

  function toCurrentVersion (version: Version | undefined): Version | undefined {
    return version?.slice(0, -suffix.length)
  }

  function translateContext (context: Context): Context {
    return context.scope === undefined ? context : withScope(translateFilter(context.scope, renamed), context)
  }

  const older = wrapStorage<Item, Old>(storage, (current) => ({
    async list (query, context) {
      const page = await current.list(translateQuery(query, renamed), translateContext(context))
      return { ...page, entries: page.entries.map(presentEntry) }
    },
    ...current.listBy && {
      async listBy ({ property, values }, query, context) {
        const by = { property: toCurrentProperty(renamed, property), values }
        const pages = await current.listBy!(by, translateQuery(query, renamed), translateContext(context))
        return pages.map((page) => ({ ...page, entries: page.entries.map(presentEntry) }))
      }
    },
    ...current.aggregate && {
      aggregate: (query, context) => {
        return current.aggregate!(translateAggregateQuery(query, renamed), translateContext(context))
      }
    },
    async find (id, context) {
      const entry = await current.find(id, translateContext(context))
      return entry && presentEntry(entry)
    },
    // `hooks.beforeValidation` of the version has built the current item of each draft.
    async insert (draft, context) {
      return presentResult(await current.insert(origins.draft.get(draft)!, translateContext(context)))
    },
    async replace (id, item, expected, context) {
      const draft = origins.draft.get(item)!
      return presentResult(await current.replace(id, draft, toCurrentVersion(expected), translateContext(context)))
    },
    remove: (id, expected, context) => current.remove(id, toCurrentVersion(expected), translateContext(context))
  }), {
    toFilter: (filter) => filter && translateFilter(filter, renamed),
    toProperty: (property) => toCurrentProperty(renamed, property)
  })
  const { transaction } = older
  return {
    ...older,
    ...transaction && { transaction: (work, context) => transaction(work, context).catch(throwTranslated) }
  }
}

/** Returns the current name of a property. Of a nested property, only the outer one can have another name. */
export function toCurrentProperty (renamed: Renamed, property: string): string {
  const [outer = '', ...inner] = property.split('.')
  return [renamed[outer] ?? outer, ...inner].join('.')
}

function translateFilter (filter: Filter, renamed: Renamed): Filter {
  if ('all' in filter) return { all: filter.all.map((part) => translateFilter(part, renamed)) }
  if ('any' in filter) return { any: filter.any.map((part) => translateFilter(part, renamed)) }
  if ('not' in filter) return { not: translateFilter(filter.not, renamed) }
  if (!('related' in filter)) return { ...filter, property: toCurrentProperty(renamed, filter.property) }
  return { ...filter, related: translateRelated(filter.related, renamed) }
}

/** What is related is in the storage of the other collection, and so are the names of its properties. */
function translateRelated (related: RelatedRows, renamed: Renamed): RelatedRows {
  return { ...related, property: toCurrentProperty(renamed, related.property) }
}

function translateOrder (by: Order, renamed: Renamed): Order {
  if (by.related !== undefined) return { ...by, related: translateRelated(by.related, renamed) }
  return { ...by, property: toCurrentProperty(renamed, by.property) }
}

/** Translates which items a query is about. */
function translateMatching (
  { filter, search }: Pick<Query, 'filter' | 'search'>,
  renamed: Renamed
): Pick<Query, 'filter' | 'search'> {
  return {
    filter: filter && translateFilter(filter, renamed),
    search: search && {
      ...search,
      properties: search.properties.map((property) => toCurrentProperty(renamed, property))
    }
  }
}

/** All properties are read, because `present` needs the whole item. */
function translateQuery (query: Query, renamed: Renamed): Query {
  return {
    ...query,
    ...translateMatching(query, renamed),
    order: query.order.map((by) => translateOrder(by, renamed)),
    properties: undefined
  }
}

function translateAggregateQuery (query: AggregateQuery, renamed: Renamed): AggregateQuery {
  const rename = <Part extends object>(part: Part): Part => {
    return 'property' in part ? { ...part, property: toCurrentProperty(renamed, String(part.property)) } : part
  }
  return {
    ...query,
    ...translateMatching(query, renamed),
    by: query.by.map(rename),
    figures: query.figures.map(rename)
  }
}
