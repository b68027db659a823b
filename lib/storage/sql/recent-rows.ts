import type { Version } from '../contract.ts'
import type { Row } from './dialect.ts'

const maxRows = 128
const maxCharacters = 16_384

/**
 * The rows that were read last, by version, for tables whose versions are digests of the row. A write compares the row
 * with what was read, and usually follows the read at once: without this it would read the row a second time.
 * The digest identifies the content, so a row in here is never wrong, however old it is.
 */
export class RecentRows {
  readonly #rows = new Map<Version, Row>()

  get (version: Version): Row | undefined {
    return this.#rows.get(version)
  }

  add (version: Version, row: Row): void {
    if (this.#rows.has(version) || isLong(row)) return
    this.#rows.set(version, row)
    if (this.#rows.size > maxRows) this.#rows.delete(this.#rows.keys().next().value!)
  }
}

function isLong (row: Row): boolean {
  let characters = 0
  for (const value of row) {
    if (typeof value === 'string') characters += value.length
  }
  return characters > maxCharacters
}
