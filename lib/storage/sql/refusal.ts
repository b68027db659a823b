import type { CommitRefused, Refusal } from '../contract.ts'
import type { BoundAssignments } from './assignments.ts'
import type { Constraint, Unstorable } from './dialect.ts'
import { toForeignKeyRefusal, type WriteKind } from './foreign-keys.ts'
import { getColumn, type Layout } from './layout.ts'
import { buildName } from './names.ts'
import type { Session } from './session.ts'
import { createStorageError } from './storage-error.ts'

const notFound: Refusal = Object.freeze({ refused: 'not-found' })
const conflict: Refusal = Object.freeze({ refused: 'conflict' })

/** Returns the name of the constraint that keeps these properties unique, in a table created for the collection. */
export function getUniqueName ({ name }: Layout, properties: readonly string[]): string {
  return buildName([name, ...properties], 'unique')
}

interface FailedWrite {
  readonly session: Session
  readonly error: unknown
  /** What it was to set; undefined for a DELETE. */
  readonly assigned: BoundAssignments | undefined
  /** By default, it inserts or updates if it sets something. */
  readonly kind?: WriteKind
}

/** Converts a violated constraint, or a value that the database cannot store, to a refusal. Throws any other error. */
export async function toRefusal (layout: Layout, { session, error, assigned, kind }: FailedWrite): Promise<Refusal> {
  const violation = layout.dialect.errors.parseViolation(error)
  if (violation === undefined) throw error
  if (violation === 'conflict') return conflict
  if ('foreignKey' in violation) {
    const write = { session, assigned, kind: kind ?? (assigned === undefined ? 'remove' : 'write') }
    return await toForeignKeyRefusal(layout, violation, write)
  }
  if ('unstorable' in violation) {
    // A DELETE sets nothing: no row has an id that the column cannot store.
    if (assigned === undefined) return notFound
    const { unstorable } = violation
    if (!('index' in unstorable)) return toUnstorable(layout, assigned, unstorable)
    const columns = await findConstraintColumns(layout, session, unstorable.index)
    return { refused: 'unstorable', properties: toProperties(layout, columns) }
  }
  if ('notNull' in violation) return toMissingValue(layout, violation.notNull, error)
  const columns = 'columns' in violation
    ? violation.columns
    : await findConstraintColumns(layout, session, violation)
  return { refused: 'not-unique', properties: toProperties(layout, columns) }
}

function toUnstorable (
  layout: Layout,
  { columns }: BoundAssignments,
  cause: Exclude<Unstorable, { readonly index: Constraint }>
): Refusal {
  if ('column' in cause) {
    const properties = cause.column === undefined ? [] : toProperties(layout, [cause.column])
    return { refused: 'unstorable', properties }
  }
  if ('parameter' in cause) {
    const properties = columns.slice(cause.parameter - 1, cause.parameter).map(({ property }) => property)
    return { refused: 'unstorable', properties }
  }
  // MariaDB names the check that a JSON column contains JSON like the column. It fails for values nested too deeply.
  const checked = columns.find(({ name, kind }) => kind === 'json' && cause.check === `${layout.name}.${name}`)
  return checked === undefined ? conflict : { refused: 'unstorable', properties: [checked.property] }
}

/** A client can send a property that the column needs, but not the value of any other column. */
function toMissingValue ({ dialect, columns, id }: Layout, name: string, error: unknown): Refusal {
  const column = columns.find((column) => dialect.catalog.foldName(column.name) === dialect.catalog.foldName(name))
  if (column === undefined || column === id) throw createStorageError(dialect, 'mismatch', error)
  return { refused: 'unstorable', properties: [column.property] }
}

function toProperties (layout: Layout, columns: readonly string[]): string[] {
  return columns.map((name) => layout.columns.find((column) => column.name === name)?.property ?? name)
}

class SqlCommitRefused extends Error implements CommitRefused {
  readonly refusal: Refusal

  constructor (refusal: Refusal, cause: unknown) {
    super('The database refused to commit the transaction', { cause })
    this.name = 'CommitRefused'
    this.refusal = refusal
  }
}

/** Converts the error of a commit that violated a constraint. Throws any other error. */
export async function toCommitRefused (layout: Layout, session: Session, error: unknown): Promise<CommitRefused> {
  const violation = layout.dialect.errors.parseViolation(error)
  if (typeof violation === 'object' && ('unstorable' in violation || 'notNull' in violation)) throw error
  return new SqlCommitRefused(await toRefusal(layout, { session, error, assigned: undefined, kind: 'commit' }), error)
}

async function findConstraintColumns (
  layout: Layout,
  session: Session,
  { constraint, buildColumnsQuery }: Constraint
): Promise<readonly string[]> {
  const known = layout.shape.unique.find((properties) => getUniqueName(layout, properties) === constraint)
  if (known !== undefined && layout.managed) return known.map((property) => getColumn(layout, property).name)
  const { signal } = new AbortController()
  const rows = await session.rows({
    text: buildColumnsQuery(layout.path),
    values: [constraint],
    context: { signal }
  })
  // An index over expressions has no columns.
  return rows.length === 0 ? [constraint] : rows.map(([name]) => String(name))
}
