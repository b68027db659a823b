import { randomUUID } from 'node:crypto'
import type { Id, Shape } from '../contract.ts'
import { createReader, type PropertyReader } from './property.ts'

/** Generates the ids of one storage. */
export class IdGenerator {
  /** Reads the id of an item; null if it has none. */
  readonly readId: PropertyReader
  readonly #isNumeric: boolean
  #highest = 0

  constructor ({ schema, id }: Shape) {
    this.readId = createReader(id.property)
    const types = [schema.properties?.[id.property]?.type].flat()
    this.#isNumeric = types.includes('integer') || types.includes('number')
  }

  /** Returns the given id, or a new one. */
  resolve (given: unknown): Id {
    if (typeof given === 'string') return given
    if (typeof given !== 'number') return this.#isNumeric ? ++this.#highest : randomUUID()
    this.#highest = Math.max(this.#highest, Math.floor(given))
    return given
  }
}
