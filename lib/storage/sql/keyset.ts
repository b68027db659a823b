import type { Order, Position } from '../contract.ts'
import type { SqlDialect, Value } from './dialect.ts'
import { getOperand, type Operand } from './operand.ts'
import type { OrderJoins } from './order-joins.ts'
import type { Parameters } from './parameters.ts'

interface Key {
  readonly by: Operand
  readonly descending: boolean
}

/** Keyset pagination over one order: its ORDER BY, and the condition for rows past a position. */
export class Keyset {
  readonly #dialect: SqlDialect
  readonly #keys: readonly Key[]

  constructor (joins: OrderJoins, order: readonly Order[], backward: boolean) {
    this.#dialect = joins.layout.dialect
    this.#keys = order.map((by) => {
      const operand = getOperand(joins.getLayout(by), by.property, undefined)
      return {
        // Without a related row, the value is null.
        by: by.related === undefined ? operand : { ...operand, nullable: true },
        descending: by.descending !== backward
      }
    })
  }

  /** The properties of the order, for positions. */
  get operands (): readonly Operand[] {
    return this.#keys.map(({ by }) => by)
  }

  buildOrderBy (): string {
    return this.#keys
      .map(({ by, descending }) => this.#dialect.orderBy(by.sorted, descending, by.nullable))
      .join(', ')
  }

  /** Builds the condition for rows past the position in this order, or in the opposite one. */
  buildSeek (position: Position, parameters: Parameters, opposite = false): string {
    const keys = this.#keys.map(({ by, descending }, index): SeekKey => {
      const value = position[index] ?? null
      return {
        by,
        value,
        descending: descending !== opposite,
        bind: () => parameters.bind(toSortValue(by, value))
      }
    })
    if (keys.some(({ by, value }) => value !== null && !by.codec.canBind(value))) return '1 = 0'
    const descending = keys.some((key) => key.descending)
    const isUniform = keys.every((key) => !key.by.nullable && key.descending === descending)
    if (isUniform && keys.length > 1 && this.#dialect.rowValues) {
      const columns = keys.map(({ by }) => by.sorted).join(', ')
      const values = keys.map(({ bind }) => bind()).join(', ')
      return `(${columns}) ${descending ? '<' : '>'} (${values})`
    }
    return `${buildIndexBound(keys)}${buildLadder(keys)}`
  }
}

interface SeekKey {
  readonly by: Operand
  readonly value: Position[number]
  readonly descending: boolean
  readonly bind: () => string
}

/** Past the first key, or equal to it and past the second, and so on. */
function buildLadder (keys: readonly SeekKey[]): string {
  const rungs = keys.map((key, index) => [...keys.slice(0, index).map(buildEqual), buildPast(key)].join(' AND '))
  return `(${rungs.join(' OR ')})`
}

/** A redundant condition on the first key, with which the database can start in an index. */
function buildIndexBound (keys: readonly SeekKey[]): string {
  const [first] = keys
  if (first === undefined || keys.length === 1) return ''
  const { by, value, descending, bind } = first
  if (value === null || (!descending && by.nullable)) return ''
  return `${by.sorted} ${descending ? '<=' : '>='} ${bind()} AND `
}

function buildPast ({ by: { sorted, nullable }, value, descending, bind }: SeekKey): string {
  if (value === null) return descending ? `${sorted} IS NOT NULL` : '1 = 0'
  if (descending) return `${sorted} < ${bind()}`
  return nullable ? `(${sorted} > ${bind()} OR ${sorted} IS NULL)` : `${sorted} > ${bind()}`
}

function buildEqual ({ by: { sorted }, value, bind }: SeekKey): string {
  return value === null ? `${sorted} IS NULL` : `${sorted} = ${bind()}`
}

/** The value as it is bound, cut to the length that rows are sorted by. */
function toSortValue ({ codec, sortLength }: Operand, value: Position[number]): Value {
  const written = codec.write(value)
  if (typeof written !== 'string' || written.length <= sortLength) return written
  return [...written].slice(0, sortLength).join('')
}
