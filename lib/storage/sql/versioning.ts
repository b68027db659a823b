import { createHash } from 'node:crypto'
import type { Version } from '../contract.ts'
import { createVersion } from '../version.ts'
import type { Dialect, Row, Value } from './dialect.ts'
import type { SqlOptions } from './options.ts'

/** How one table keeps versions. */
export interface Versioning {
  /** The column; undefined where the version is derived. */
  readonly name: string | undefined
  /** What a SELECT or RETURNING says besides the item's columns. */
  readonly select: string | undefined
  /** Of a row with so many columns of the item. */
  readonly read: (row: Row, columns: number) => Version
  /** What INSERT and UPDATE set the column to; undefined where the database sees to it. */
  readonly insert: Assignment | undefined
  readonly update: Assignment | undefined
  /** What must equal the version expected, and that version as it is bound; undefined where it is derived. */
  readonly compare: { readonly sql: string, readonly bind: (expected: Version) => Value } | undefined
}

/** A fresh value to bind, or an expression. */
export type Assignment = { readonly column: string } & ({ readonly value: () => Value } | { readonly sql: string })

export function versioning (dialect: Dialect, option: NonNullable<SqlOptions['version']>): Versioning {
  if (typeof option === 'object' && 'derived' in option) return derived
  const { column: name, as } = typeof option === 'string' ? { column: option, as: 'random' as const } : option
  const column = dialect.quote(name)
  const textual = dialect.textual(column)
  const asText: Pick<Versioning, 'name' | 'select' | 'read' | 'compare'> = {
    name,
    // Not called as the column, or ORDER BY would take that.
    select: `${textual} AS ${dialect.quote('entity tag')}`,
    read: (row, columns) => String(row[columns]),
    compare: { sql: textual, bind: String }
  }
  switch (as) {
    case 'random':
      return {
        ...asText,
        select: column,
        insert: { column, value: createVersion },
        update: { column, value: createVersion },
        compare: { sql: column, bind: String }
      }
    case 'integer':
      return {
        ...asText,
        insert: { column, sql: '1' },
        update: { column, sql: `${column} + 1` },
        // What no version of this table can be is bound as one that none is.
        compare: { sql: column, bind: (expected) => /^\d{1,15}$/.test(expected) ? Number(expected) : -1 }
      }
    case 'timestamp':
      return { ...asText, insert: { column, sql: dialect.now }, update: { column, sql: dialect.later(column) } }
    case 'system':
      return { ...asText, insert: undefined, update: undefined }
  }
}

const derived: Versioning = {
  name: undefined,
  select: undefined,
  // Nothing but columns is selected.
  read: (row) => createHash('sha256').update(JSON.stringify(row)).digest('base64url').slice(0, 27),
  insert: undefined,
  update: undefined,
  compare: undefined
}
