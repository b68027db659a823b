import type { Version } from '../contract.ts'
import type { Row } from './dialect.ts'

const mostRows = 128
const mostCharacters = 16_384

/**
 * The rows that were read last, by their versions, where a version is a digest of the row. A write compares the row with what
 * was read, and it usually follows the read at once: without this it would have to read the row a second time.
 * The digest stands for the content, so that a row in here is never a wrong one, however old it is.
 */
export class RecentRows {
  readonly #rows = new Map<Version, Row>()

  get (version: Version): Row | undefined {
    return this.#rows.get(version)
  }

  add (version: Version, row: Row): void {
    if (this.#rows.has(version) || isLong(row)) return
    this.#rows.set(version, row)
    if (this.#rows.size > mostRows) this.#rows.delete(this.#rows.keys().next().value!)
  }
}

function isLong (row: Row): boolean {
  let characters = 0
  for (const value of row) if (typeof value === 'string') characters += value.length
  return characters > mostCharacters
}
