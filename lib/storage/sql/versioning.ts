import { hash } from 'node:crypto'
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
  /** What must equal the version expected, and that version as it is bound; undefined if the version is a digest. */
  readonly compare: { readonly sql: string, readonly bind: (expected: Version) => Value } | undefined
  /** The version column as text, which a write compares with the row that was read; undefined if there is no such column, or if `compare` is used. */
  readonly textual: string | undefined
}

/** A fresh value to bind, or an expression. */
export type Assignment = { readonly column: string } & ({ readonly value: () => Value } | { readonly sql: string })

export function versioning (dialect: Dialect, option: NonNullable<SqlOptions['version']>): Versioning {
  if (typeof option === 'object' && 'derived' in option) return derived
  const { column: name, as } = typeof option === 'string' ? { column: option, as: 'random' as const } : option
  const column = dialect.quote(name)
  if (as === 'random') {
    return {
      name,
      select: column,
      read: (row, columns) => String(row[columns]),
      insert: { column, value: createVersion },
      update: { column, value: createVersion },
      compare: { sql: column, bind: String },
      textual: undefined
    }
  }
  const textual = dialect.textual(column)
  return {
    ...derived,
    name,
    // Not called as the column, or ORDER BY would take that.
    select: `${textual} AS ${dialect.quote('entity tag')}`,
    ...assignments(dialect, column, as),
    textual
  }
}

function assignments (dialect: Dialect, column: string, as: 'integer' | 'timestamp' | 'system'): Pick<Versioning, 'insert' | 'update'> {
  switch (as) {
    case 'integer':
      return { insert: { column, sql: '1' }, update: { column, sql: `${column} + 1` } }
    case 'timestamp':
      return { insert: { column, sql: dialect.now }, update: { column, sql: dialect.later(column) } }
    case 'system':
      return { insert: undefined, update: undefined }
  }
}

/** An integer that no number holds. */
const asJson = (_name: string, value: unknown) => typeof value === 'bigint' ? String(value) : value

/**
 * A digest of the row, with its version column if there is one. Such a column alone is no version: a row that is deleted and
 * created again may have the same number or time with other content. The digest also keeps the column itself from clients,
 * because a number such as PostgreSQL's xmin counts what happens in the whole database.
 */
const derived: Versioning = {
  name: undefined,
  select: undefined,
  // Nothing but columns is selected.
  read: (row) => hash('sha256', JSON.stringify(row, asJson), 'base64url').slice(0, 27),
  insert: undefined,
  update: undefined,
  compare: undefined,
  textual: undefined
}
