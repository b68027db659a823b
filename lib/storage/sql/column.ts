import type { JsonSchema } from '../contract.ts'
import type { Codec } from './codec.ts'
import type { Kind } from './kind.ts'

/** A property of the items, as a table has it. */
export interface Column {
  readonly property: string
  readonly schema: JsonSchema
  readonly name: string
  /** The name as a statement has it. */
  readonly sql: string
  /** What a SELECT or RETURNING says. Not called as the column where it is another expression, or ORDER BY would take that. */
  readonly select: string
  readonly kind: Kind
  readonly codec: Codec
  /** Null is one of the property's values. */
  readonly nullable: boolean
  readonly required: boolean
  /** Filled by the database alone. */
  readonly generated: boolean
}
