import { randomUUID } from 'node:crypto'
import type { Id, Shape } from '../contract.ts'
import { property, type Read } from './property.ts'

/** Makes the ids of one storage. */
export class Mint {
  /** The id an item brings along; null where it has none. */
  readonly given: Read
  readonly #counts: boolean
  #highest = 0

  constructor ({ schema, id }: Shape) {
    this.given = property(id.property)
    const types = [schema.properties?.[id.property]?.type].flat()
    this.#counts = types.includes('integer') || types.includes('number')
  }

  /** The id given, or a new one. */
  id (given: unknown): Id {
    if (typeof given === 'string') return given
    if (typeof given !== 'number') return this.#counts ? ++this.#highest : randomUUID()
    this.#highest = Math.max(this.#highest, Math.floor(given))
    return given
  }
}
