import type { Served } from '../engine/collection.ts'
import type { Operation } from '../engine/operation.ts'
import type { Embedded, EmbeddedItem, EmbeddedList, Links } from '../http/link.ts'
import { createCursor } from '../query/cursor.ts'
import { combineFilters, toStorageQuery } from '../query/list-query.ts'
import type { Inclusion, ListQuery } from '../query/list-query.ts'
import { logUnreadable } from '../query/unreadable.ts'
import { writeQuery } from '../query/write-query.ts'
import { fillPath } from '../doors/http/links.ts'
import { applySelection, getPositionVersion, getSelectionVersion } from '../engine/selection.ts'
import type { Addition, Embed } from '../engine/selection.ts'
import type { ItemType } from '../schema/item-type.ts'
import { withScope } from '../storage/filter.ts'
import type { Context, Entry, Id, Page, Storage } from '../storage/contract.ts'
import type { CallerRelation, CallerRelations } from './caller-relations.ts'
import { buildIncludedLinks } from './links.ts'
import { readId } from './relation.ts'

/** What is included of a relation. */
interface Included {
  /** The relation, as the caller sees it. */
  readonly of: CallerRelation
  readonly listQuery: ListQuery
}

/** The related items of the entries of a response, by the id that both have in common. */
interface Related extends Included {
  readonly name: string
  readonly pages: ReadonlyMap<unknown, Page<object>>
  /** What is added to the related items themselves. */
  readonly additions: readonly Addition[]
  readonly buildUrl: BuildUrl
}

interface Wanted {
  readonly inclusions: readonly Inclusion[]
  readonly relations: CallerRelations
  readonly operation: Operation
}

/** Reads what is included: one statement for each relation, however many items there are. */
export async function include (
  entries: ReadonlyArray<Entry<object>>,
  { inclusions, relations, operation }: Wanted
): Promise<Addition> {
  const all: Related[] = []
  // One after the other, because a transaction has one connection.
  for (const { of: { relation: { name } }, listQuery } of inclusions) {
    // It was resolved with these relations.
    all.push(await readRelated(entries, { of: relations.opened.get(name)!, listQuery }, operation))
  }
  const shown = new Map<Entry<object>, Record<string, unknown>>()
  return {
    add (entry, embed) {
      if (embed !== undefined) {
        const embedded = all.map((related) => [related.name, toEmbedded(related, entry, { operation, embed })])
        return embed(Object.fromEntries(embedded) as Embedded)
      }
      // The length of a page is limited before it is rendered, so each entry is shown twice.
      let added = shown.get(entry)
      if (added === undefined) {
        added = {}
        for (const related of all) added[related.name] = show(related, entry)
        shown.set(entry, added)
      }
      return added
    },
    version: (entry) => all.map((related) => `+${related.name} ${getVersion(related, entry)}`).join('')
  }
}

async function readRelated (
  entries: ReadonlyArray<Entry<object>>,
  included: Included,
  operation: Operation
): Promise<Related> {
  const { of: { relation, reading, target: { collection }, relations }, listQuery: { expand = [] } } = included
  const { name } = relation
  const ids = new Set(entries.map(({ item }) => readId(item, relation.property)))
  const values = [...ids].filter((id) => id !== undefined)
  if (reading === undefined || values.length === 0) {
    return { ...included, name, pages: new Map(), additions: [], buildUrl: () => undefined }
  }
  const storage = operation.transaction?.joinIfPossible(collection) ?? collection.storage
  const context = withScope(reading.scope, operation.context)
  const pages = relation.isMany
    ? await readPages(included, values, { storage, context })
    : await readItems(included, values, { storage, context })
  for (const page of pages.values()) logUnreadable(collection.name, page, operation)
  const additions = expand.length === 0
    ? []
    : [await include([...pages.values()].flatMap((page) => page.entries), { inclusions: expand, relations, operation })]
  // Most lists are included as a whole, and then no URL is needed.
  let prepared: BuildUrl | undefined
  const buildUrl: BuildUrl = (parent, last) => (prepared ??= prepareUrl(included, operation))(parent, last)
  return { ...included, name, pages, additions, buildUrl }
}

interface Source {
  readonly storage: Storage<object>
  readonly context: Context
}

/** Reads a page for each value. */
async function readPages (
  included: Included,
  values: readonly Id[],
  { storage, context }: Source
): Promise<Map<unknown, Page<object>>> {
  const { of: { relation: { equals }, lists } } = included
  const query = toStorageQuery(lists!, toListQuery(included))
  const pages = await storage.listBy!({ property: equals, values }, query, context)
  return new Map(values.map((value, index) => [value, pages[index]!]))
}

/** Reads the one item for each value, as a page. */
async function readItems (
  included: Included,
  values: readonly Id[],
  { storage, context }: Source
): Promise<Map<unknown, Page<object>>> {
  const { of: { relation: { equals: property }, lists } } = included
  const page = await storage.list({
    ...toStorageQuery(lists!, toListQuery(included)),
    filter: { property, is: 'in', value: values },
    order: [{ property, descending: false }],
    limit: values.length
  }, context)
  const pages = new Map<unknown, Page<object>>()
  for (const entry of page.entries) pages.set(entry.id, { entries: [entry], more: false })
  // They belong to no item of the response.
  if (page.unreadable !== undefined) pages.set(undefined, { entries: [], more: false, unreadable: page.unreadable })
  return pages
}

/** The query of an included list, with the defaults of the relation. */
function toListQuery ({ of: { relation, lists }, listQuery }: Included): ListQuery {
  // The order would reveal the values of hidden properties.
  const order = relation.order?.filter(({ property }) => !lists!.type.hidden?.has(property.split('.', 1)[0]!))
  return {
    ...relation.limit !== undefined && { limit: relation.limit },
    ...order !== undefined && { order },
    ...listQuery,
    needs: [relation.equals]
  }
}

const noPage: Page<object> = { entries: [], more: false }

function findPage ({ of: { relation }, pages }: Related, { item }: Entry<object>): Page<object> {
  return pages.get(readId(item, relation.property)) ?? noPage
}

function show (related: Related, parent: Entry<object>): unknown {
  const { of: { relation }, listQuery, additions } = related
  const page = findPage(related, parent)
  const type = getType(related)
  const selection = { fields: listQuery.fields, additions }
  const items = page.entries.map((entry) => applySelection(type, entry, selection))
  if (!relation.isMany) return items[0] ?? null
  const shown: { items: object[], total?: number, next?: string } = { items }
  const total = getTotal(related, page)
  if (total !== undefined) shown.total = total
  const next = buildNextUrl(related, parent, page)
  if (next !== undefined) shown.next = next
  return shown
}

function getTotal ({ listQuery: { count } }: Included, { total = 0 }: Page<object>): number | undefined {
  return count === true ? total : undefined
}

function buildNextUrl ({ buildUrl }: Related, parent: Entry<object>, page: Page<object>): string | undefined {
  const last = page.more ? page.entries.at(-1) : undefined
  return last === undefined ? undefined : buildUrl(parent, last)
}

interface EmbedContext {
  readonly operation: Operation
  readonly embed: Embed
}

/** The same, for a format that writes related items with links. */
function toEmbedded (
  related: Related,
  parent: Entry<object>,
  { operation, embed }: EmbedContext
): EmbeddedItem | EmbeddedList | undefined {
  const { of: { relation }, listQuery: { fields }, additions, buildUrl } = related
  const page = findPage(related, parent)
  const type = getType(related)
  const embedded = page.entries.map((entry) => ({
    item: applySelection(type, entry, { fields, additions }, embed),
    links: buildLinks(related, entry, operation)
  }))
  if (!relation.isMany) return embedded[0]
  const self = buildUrl(parent)
  const next = buildNextUrl(related, parent, page)
  return {
    items: embedded.map(({ item }) => item),
    links: {
      list: { ...self !== undefined && { self: { href: self } }, ...next !== undefined && { next: { href: next } } },
      items: embedded.map(({ links }) => links)
    },
    total: getTotal(related, page)
  }
}

/** The links of an included item. That of a nested collection has some if the caller sees which item it belongs to. */
function buildLinks (included: Included, entry: Entry<object>, operation: Operation): Links {
  const { of: { target }, listQuery: { fields } } = included
  const { attached: { parent } } = target.collection
  const type = getType(included)
  const outer = parent === undefined || type.hidden?.has(parent.property) === true
    ? undefined
    : readId(entry.item, parent.property)
  const path = buildPath(target, operation, outer)
  return path === undefined ? {} : buildIncludedLinks(target, entry, { path, type, fields })
}

function getType ({ of: { reading, target: { collection } } }: Included): ItemType {
  return reading?.view.type ?? collection.type
}

function getVersion (related: Related, parent: Entry<object>): string {
  const { of: { reading }, listQuery: { fields }, additions } = related
  const type = getType(related)
  const { entries, more, total } = findPage(related, parent)
  const selection = { fields, additions }
  // Another item may have the same version.
  const versions = entries.map((entry) => {
    return `${entry.id} ${getSelectionVersion(type, entry, selection)}${getPositionVersion(entry)}`
  })
  // The links of a list depend on what the caller sees, even if the list is empty.
  const seen = reading === undefined ? 'none' : [type.digest, ...type.hidden ?? []].join()
  return `${versions.join()}.${seen}${more ? '.more' : ''}${total === undefined ? '' : `.${total}`}`
}

/**
 * Returns the URL of an included list or, after its last entry, that continues it; undefined if no URL can express its
 * query.
 */
type BuildUrl = (parent: Entry<object>, last?: Entry<object>) => string | undefined

/** Prepares what the URLs of all parents have in common. */
function prepareUrl (included: Included, operation: Operation): BuildUrl {
  const { of: { relation: { equals }, target } } = included
  const lists = included.of.lists!
  const { needs, count, limit, ...rest } = toListQuery(included)
  // A list by itself has at least one item.
  const own = limit === 0 || limit === undefined ? rest : { ...rest, limit }
  const query = writeQuery(lists, own)
  const isNested = target.collection.attached.parent?.property === equals
  const name = lists.parameters.has(equals) ? `${equals}.eq` : equals
  if (query === undefined || new URLSearchParams(query).has(name)) return () => undefined
  const order = own.order ?? lists.order
  return (parent, last) => {
    const path = buildPath(target, operation, isNested ? parent.id : undefined)
    if (path === undefined) return undefined
    const condition = isNested ? '' : `${encodeURIComponent(name)}=${encodeURIComponent(parent.id)}`
    const parameters = [condition, query].filter((part) => part !== '')
    if (last === undefined) return parameters.length === 0 ? path : `${path}?${parameters.join('&')}`
    const byParent = { property: equals, is: 'eq', value: parent.id } as const
    const filters = [...isNested ? [] : [byParent], ...own.filter === undefined ? [] : [own.filter]]
    const filter = filters.length === 0 ? undefined : combineFilters(filters)
    const cursor = createCursor(lists, { filter, search: undefined, order }, { direction: 'after', entry: last })
    return `${path}?${[...parameters, `cursor=${cursor}`].join('&')}`
  }
}

/** The path of the other collection, with the parameters of the prefix and, if it is nested, the id of the parent. */
function buildPath ({ path }: Served, { request }: Operation, parent: Id | undefined): string | undefined {
  const parameters = Object(request?.params) as Readonly<Record<string, string>>
  return fillPath(path, { ...parameters, parent: parent === undefined ? undefined : String(parent) })
}
