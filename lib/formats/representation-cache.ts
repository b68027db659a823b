import type { Format, Formatted } from './format.ts'
import type { Entry, Id } from '../storage/contract.ts'

/** The content of an entry in a format, with its headers. */
export interface Representation {
  /** The path of the collection at which it was requested. */
  readonly path: string
  readonly content: Formatted
  readonly headers: Readonly<Record<string, string>>
  /** In milliseconds: from when on its headers include Last-Modified; undefined if they do not change. */
  readonly datedFrom?: number | undefined
}

interface CachedEntry {
  entry: Entry<object>
  /** Undefined until the entry is requested again. */
  representation: Representation | undefined
}

/** If one of these is exceeded, the cache is cleared. */
const maxEntries = 10_000
const maxLength = 16_777_216

/** Caches the representations of entries in one format, from the second request for an entry on. */
export class RepresentationCache {
  readonly #entries = new Map<Id, CachedEntry>()
  #length = 0

  get (entry: Entry<object>, path: string): Representation | undefined {
    const cached = this.#entries.get(entry.id)
    return cached?.entry === entry && cached.representation?.path === path ? cached.representation : undefined
  }

  add (entry: Entry<object>, representation: Representation): void {
    const cached = this.#entries.get(entry.id)
    if (cached === undefined) {
      this.#entries.set(entry.id, { entry, representation: undefined })
    } else if (cached.entry !== entry) {
      cached.entry = entry
      cached.representation = undefined
    } else {
      this.#length += representation.content.length - (cached.representation?.content.length ?? 0)
      cached.representation = representation
    }
    if (this.#entries.size > maxEntries || this.#length > maxLength) this.#clear()
  }

  #clear (): void {
    this.#entries.clear()
    this.#length = 0
  }
}

/** Creates a cache for each format. */
export function createCaches (formats: readonly Format[]): ReadonlyMap<Format, RepresentationCache> {
  return new Map(formats.map((format) => [format, new RepresentationCache()]))
}
