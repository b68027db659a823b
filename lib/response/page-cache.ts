import type { Formatted } from '../formats/format.ts'
import type { Headers } from './response.ts'

/** What the storage returned for a page: if it is the same again, so is the response. */
export interface PageState {
  readonly versions: string
  readonly total: number | undefined
}

export interface CachedPage extends PageState {
  /** The headers of a 304, without Content-Type. */
  readonly headers: Headers
  /** All headers. */
  readonly whole: Headers
  readonly content: Formatted
}

/** What a page is rendered for. */
interface PageTarget {
  readonly path: string
  readonly search: string
  readonly format: { readonly name: string }
}

const maxPages = 32
const maxLength = 65_536

/** Rendered pages. The storage is queried for every request. A response is reused while the entries are the same. */
export class PageCache {
  readonly #pages = new Map<string, CachedPage>()

  /** Returns the cached response; undefined if there is none or the entries have changed. */
  get (target: PageTarget, { versions, total }: PageState): CachedPage | undefined {
    const cached = this.#pages.get(getKey(target))
    return cached?.versions === versions && cached.total === total ? cached : undefined
  }

  /** Caches a response, and drops the oldest one if there are too many. */
  add (target: PageTarget, page: CachedPage): void {
    if (page.content.length > maxLength) return
    const key = getKey(target)
    this.#pages.delete(key)
    this.#pages.set(key, page)
    if (this.#pages.size > maxPages) this.#pages.delete(this.#pages.keys().next().value!)
  }
}

function getKey ({ path, search, format }: PageTarget): string {
  return `${path}?${search} ${format.name}`
}
