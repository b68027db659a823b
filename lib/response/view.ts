import { hash } from 'node:crypto'
import type { Response } from './response.ts'
import type { Collection } from '../collection.ts'
import type { ListQuery } from '../listing/list-query.ts'
import type { Request } from '../request/request.ts'
import type { ItemType } from '../schema/item-type.ts'
import type { Entry } from '../storage/contract.ts'

/** What a feature adds to the items of a response. */
export interface ViewAddition {
  /** Returns the properties that it adds to an item. */
  add (entry: Entry<object>): Readonly<Record<string, unknown>>
  /** Distinguishes this representation of an entry from others of the same version. */
  version (entry: Entry<object>): string
  /** Whether it depends on the caller. */
  readonly personal: boolean
}

/** Items in another form than they are stored: with some of their properties, or with additions. */
export interface View {
  /** Only these properties. */
  readonly fields: readonly string[] | undefined
  readonly additions: readonly ViewAddition[]
}

interface ViewRequest {
  readonly listQuery: ListQuery
  readonly request: Request
}

/** Returns the view that the query requests of these entries; undefined if it requests them as they are. */
export async function buildView (
  collection: Collection,
  entries: ReadonlyArray<Entry<object>>,
  { listQuery, request }: ViewRequest
): Promise<View | undefined> {
  const { fields, features } = listQuery
  if (fields === undefined && features === undefined) return undefined
  const additions: ViewAddition[] = []
  for (const hook of features === undefined ? [] : collection.attached.hooks.onView) {
    const addition = await hook(entries, { listQuery, request })
    if (addition !== undefined) additions.push(addition)
  }
  return fields === undefined && additions.length === 0 ? undefined : { fields, additions }
}

/** Marks a response as personal if its view is. */
export function markPersonal (view: View | undefined, response: Response): Response {
  const isPersonal = view?.additions.some(({ personal }) => personal) === true
  return isPersonal ? { ...response, personal: true } : response
}

const digests = new WeakMap<ItemType, WeakMap<Entry<object>, string>>()

/** Returns the version of what the caller sees. If properties are hidden, it does not reveal when those change. */
export function getVersion (type: ItemType, entry: Entry<object>): string {
  if (type.hidden === undefined) return entry.version
  let cache = digests.get(type)
  if (cache === undefined) {
    cache = new WeakMap()
    digests.set(type, cache)
  }
  let digest = cache.get(entry)
  if (digest === undefined) {
    digest = hash('sha1', JSON.stringify(type.show(entry.item)), 'base64url')
    cache.set(entry, digest)
  }
  return digest
}

/** Returns the item as the view shows it. */
export function applyView (type: ItemType, entry: Entry<object>, { fields, additions }: View): object {
  const item = type.show(entry.item)
  const picked = fields === undefined
    ? item
    : Object.fromEntries(Object.entries(item).filter(([name]) => fields.includes(name)))
  return additions.length === 0 ? picked : Object.assign({}, picked, ...additions.map(({ add }) => add(entry)))
}

/** Each view is another representation, and has its own version. */
export function getViewVersion (type: ItemType, entry: Entry<object>, { fields, additions }: View): string {
  const selection = fields === undefined ? '' : `~${fields.join()}`
  return getVersion(type, entry) + selection + additions.map(({ version }) => version(entry)).join('')
}
