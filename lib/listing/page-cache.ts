import type { Formatted } from '../formats/format.ts'
import type { HeaderFields } from '../response/response.ts'
import type { Collection } from '../collection.ts'
import type { Request } from '../request/request.ts'

/** What the storage returned for a page: if it is the same again, so is the response. */
export interface PageState {
  readonly versions: string
  readonly total: number | undefined
}

export interface CachedPage extends PageState {
  /** The headers of a 304, without Content-Type. */
  readonly fields: HeaderFields
  /** All headers. */
  readonly whole: HeaderFields
  readonly content: Formatted
}

// The storage is queried for every request. Only the response is reused, as long as the entries are the same.
const caches = new WeakMap<Collection, Map<string, CachedPage>>()

/** For each collection. */
const maxPages = 32
const maxLength = 65_536

/** Returns the cached response to a request; undefined if there is none or the entries have changed. */
export function getCachedPage (
  collection: Collection,
  request: Request,
  { versions, total }: PageState
): CachedPage | undefined {
  const cached = caches.get(collection)?.get(getKey(request))
  return cached?.versions === versions && cached.total === total ? cached : undefined
}

/** Caches a response, and drops the oldest one if there are too many. */
export function cachePage (collection: Collection, request: Request, page: CachedPage): void {
  if (page.content.length > maxLength) return
  let pages = caches.get(collection)
  if (pages === undefined) {
    pages = new Map()
    caches.set(collection, pages)
  }
  const key = getKey(request)
  pages.delete(key)
  pages.set(key, page)
  if (pages.size > maxPages) pages.delete(pages.keys().next().value!)
}

function getKey ({ path, search, format }: Request): string {
  return `${path}?${search} ${format.name}`
}
