import type { JsonSchema } from '../contract.ts'
import type { Codec } from './codec.ts'
import type { Kind } from './kind.ts'

/** The column of a property. */
export interface Column {
  readonly property: string
  readonly schema: JsonSchema
  readonly name: string
  /** The quoted name. */
  readonly sql: string
  /**
   * The expression in SELECT or RETURNING. An expression other than the column has an alias that differs from the
   * column, or ORDER BY would use the alias.
   */
  readonly select: string
  readonly kind: Kind
  readonly codec: Codec
  /** Whether null is a value of the property. */
  readonly nullable: boolean
  readonly required: boolean
  /** Whether only the database sets it. */
  readonly generated: boolean
}
