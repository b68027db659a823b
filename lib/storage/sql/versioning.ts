import { hash } from 'node:crypto'
import type { Version } from '../contract.ts'
import { createVersion } from '../version.ts'
import type { SqlDialect, Row, Value } from './dialect.ts'
import type { SqlOptions } from './options.ts'

/** How one table stores versions. */
export interface Versioning {
  /** The column; undefined if the version is derived from the row. */
  readonly name: string | undefined
  /** What SELECT and RETURNING read besides the columns of the item. */
  readonly select: string | undefined
  /** Reads the version of a row with so many columns of the item. */
  readonly read: (row: Row, columns: number) => Version
  /** What INSERT and UPDATE set the column to; undefined if the database sets it. */
  readonly insert: VersionAssignment | undefined
  readonly update: VersionAssignment | undefined
  /** What must equal the expected version, and how that version is bound; undefined if the version is a digest. */
  readonly compare: { readonly sql: string, readonly bind: (expected: Version) => Value } | undefined
  /**
   * The version column as text, which a write compares with the row that was read; undefined if there is no such
   * column, or if `compare` is used.
   */
  readonly columnText: string | undefined
  /** The same for a statement in which the table has an alias. */
  readonly within: (alias: string) => Versioning
}

/** A new value to bind, or an expression. */
export type VersionAssignment =
  & { readonly column: string }
  & ({ readonly value: () => Value } | { readonly sql: string })

export function createVersioning (
  dialect: SqlDialect,
  option: NonNullable<SqlOptions['version']>,
  alias?: string
): Versioning {
  if (typeof option === 'object' && 'derived' in option) return digestVersioning
  const { column: name, as } = typeof option === 'string' ? { column: option, as: 'random' as const } : option
  const column = alias === undefined ? dialect.quote(name) : `${alias}.${dialect.quote(name)}`
  const within = (other: string) => createVersioning(dialect, option, other)
  if (as === 'random') {
    return {
      name,
      select: column,
      read: (row, columns) => String(row[columns]),
      insert: { column, value: createVersion },
      update: { column, value: createVersion },
      compare: { sql: column, bind: String },
      columnText: undefined,
      within
    }
  }
  const columnText = dialect.castToText(column)
  return {
    ...digestVersioning,
    name,
    // The alias differs from the column, or ORDER BY would use the alias.
    select: `${columnText} AS ${dialect.quote('entity tag')}`,
    ...getAssignments(dialect, column, as),
    columnText,
    within
  }
}

function getAssignments (
  dialect: SqlDialect,
  column: string,
  as: 'integer' | 'timestamp' | 'system'
): Pick<Versioning, 'insert' | 'update'> {
  switch (as) {
    case 'integer':
      return { insert: { column, sql: '1' }, update: { column, sql: `${column} + 1` } }
    case 'timestamp':
      return { insert: { column, sql: dialect.now }, update: { column, sql: dialect.later(column) } }
    case 'system':
      return { insert: undefined, update: undefined }
  }
}

/** JSON.stringify throws for a bigint, which is an integer beyond 2^53. */
const replaceBigInt = (_name: string, value: unknown) => typeof value === 'bigint' ? String(value) : value

/**
 * A digest of the row, with its version column if there is one. The column alone is not enough: a row that is deleted
 * and created again may have the same number or time with other content. The digest also hides the column from clients,
 * because a number such as PostgreSQL's xmin counts what happens in the whole database.
 */
const digestVersioning: Versioning = {
  name: undefined,
  select: undefined,
  // The row has only columns of the table.
  read: (row) => hash('sha256', JSON.stringify(row, replaceBigInt), 'base64url').slice(0, 27),
  insert: undefined,
  update: undefined,
  compare: undefined,
  columnText: undefined,
  within: () => digestVersioning
}
