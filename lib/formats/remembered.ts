import type { Format } from './format.ts'
import type { Entry, Id } from '../storage/contract.ts'

/** An entry as a client sees it, with the fields that describe it. */
export interface Representation {
  /** That of the collection at which it was written. */
  readonly path: string
  readonly content: string
  readonly fields: Readonly<Record<string, string>>
}

/** An entry that was seen, and what was written of it where it was seen again. */
interface Sight {
  entry: Entry<object>
  representation: Representation | undefined
}

/** So many entries, and so many characters: beyond that it begins anew. */
const most = 10_000
const longest = 16_777_216

/** What was written of entries in one format. Of what is read once, as where it is read to be changed, nothing is kept. */
export class Remembered {
  readonly #sights = new Map<Id, Sight>()
  #length = 0

  recall (entry: Entry<object>, path: string): Representation | undefined {
    const sight = this.#sights.get(entry.id)
    return sight?.entry === entry && sight.representation?.path === path ? sight.representation : undefined
  }

  keep (entry: Entry<object>, representation: Representation): void {
    const sight = this.#sights.get(entry.id)
    if (sight !== undefined && sight.entry !== entry) {
      sight.entry = entry
      sight.representation = undefined
    } else if (sight !== undefined) {
      sight.representation = representation
      this.#length += representation.content.length
    } else {
      this.#sights.set(entry.id, { entry, representation: undefined })
    }
    if (this.#sights.size > most || this.#length > longest) this.#forget()
  }

  #forget (): void {
    this.#sights.clear()
    this.#length = 0
  }
}

export function remembered (formats: readonly Format[]): ReadonlyMap<Format, Remembered> {
  return new Map(formats.map(format => [format, new Remembered()]))
}
