import type { Order, Position } from '../contract.ts'
import type { Dialect, Value } from './dialect.ts'
import type { Layout } from './layout.ts'
import { operand, type Operand } from './operand.ts'
import type { Parameters } from './parameters.ts'

interface Key {
  readonly by: Operand
  readonly descending: boolean
}

/** One order of a listing: its ORDER BY, and what lies past a position. */
export class Keyset {
  readonly #dialect: Dialect
  readonly #keys: readonly Key[]

  constructor (layout: Layout, order: readonly Order[], backward: boolean) {
    this.#dialect = layout.dialect
    this.#keys = order.map(({ property, descending }) => ({ by: operand(layout, property, undefined), descending: descending !== backward }))
  }

  orderBy (): string {
    return this.#keys.map(({ by, descending }) => this.#dialect.order(by.sorted, descending, by.nullable)).join(', ')
  }

  /** Past the position in this order, or against it. */
  past (position: Position, parameters: Parameters, against = false): string {
    const steps = this.#keys.map(({ by, descending }, index): Step => {
      const value = position[index] ?? null
      return { by, value, descending: descending !== against, bind: () => parameters.bind(toSorted(by, value)) }
    })
    if (steps.some(({ by, value }) => value !== null && !by.codec.fits(value))) return '1 = 0'
    const descending = steps.some((step) => step.descending)
    const uniform = steps.every((step) => !step.by.nullable && step.descending === descending)
    if (uniform && steps.length > 1 && this.#dialect.rowValues) {
      return `(${steps.map(({ by }) => by.sorted).join(', ')}) ${descending ? '<' : '>'} (${steps.map(({ bind }) => bind()).join(', ')})`
    }
    return `${bound(steps)}${ladder(steps)}`
  }
}

interface Step {
  readonly by: Operand
  readonly value: Position[number]
  readonly descending: boolean
  readonly bind: () => string
}

/** Past the first key, or level with it and past the second, and so on. */
function ladder (steps: readonly Step[]): string {
  const rungs = steps.map((step, index) => [...steps.slice(0, index).map(level), past(step)].join(' AND '))
  return `(${rungs.join(' OR ')})`
}

/** Says nothing new, but an index can begin there. */
function bound (steps: readonly Step[]): string {
  return steps.length === 1
    ? ''
    : steps.slice(0, 1)
      .filter(({ by, value, descending }) => value !== null && (descending || !by.nullable))
      .map(({ by, descending, bind }) => `${by.sorted} ${descending ? '<=' : '>='} ${bind()} AND `)
      .join('')
}

function past ({ by: { sorted, nullable }, value, descending, bind }: Step): string {
  if (value === null) return descending ? `${sorted} IS NOT NULL` : '1 = 0'
  if (descending) return `${sorted} < ${bind()}`
  return nullable ? `(${sorted} > ${bind()} OR ${sorted} IS NULL)` : `${sorted} > ${bind()}`
}

function level ({ by: { sorted }, value, bind }: Step): string {
  return value === null ? `${sorted} IS NULL` : `${sorted} = ${bind()}`
}

/** The value as it is bound, cut to what rows are sorted by. */
function toSorted ({ codec, sortLength }: Operand, value: Position[number]): Value {
  const written = codec.write(value)
  return typeof written === 'string' && written.length > sortLength ? [...written].slice(0, sortLength).join('') : written
}
