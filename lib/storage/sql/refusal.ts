import type { CommitRefused, Refusal } from '../contract.ts'
import type { Assigned } from './assignments.ts'
import type { Constraint, Unstorable } from './dialect.ts'
import { columnOf, type Layout } from './layout.ts'
import type { Session } from './session.ts'

const absent: Refusal = Object.freeze({ refused: 'not-found' })
const conflict: Refusal = Object.freeze({ refused: 'conflict' })

/** Long enough for every database: PostgreSQL cuts names at 63 bytes. */
const nameLength = 60

/** The name of the constraint that keeps these properties unique, in a table made for the collection. */
export function uniqueName ({ name }: Layout, properties: readonly string[]): string {
  return `${name}_${properties.join('_')}_unique`.slice(-nameLength)
}

/** A write that failed. */
interface Failed {
  readonly session: Session
  readonly error: unknown
  /** What it was to set; undefined if it removes. */
  readonly assigned: Assigned | undefined
}

/** A violated constraint, or a value that the database cannot store, as a refusal; any other error is thrown again. */
export async function refusal (layout: Layout, { session, error, assigned }: Failed): Promise<Refusal> {
  const violation = layout.dialect.violation(error)
  if (violation === undefined) throw error
  if (violation === 'conflict') return conflict
  if ('unstorable' in violation) {
    // A DELETE sets nothing: no row has an id that the column cannot hold.
    if (assigned === undefined) return absent
    if ('index' in violation.unstorable) return { refused: 'unstorable', properties: propertiesOf(layout, await constrained(layout, session, violation.unstorable.index)) }
    return unstorable(layout, assigned, violation.unstorable)
  }
  const columns = 'columns' in violation ? violation.columns : await constrained(layout, session, violation)
  return { refused: 'not-unique', properties: propertiesOf(layout, columns) }
}

function unstorable (layout: Layout, { columns }: Assigned, cause: Exclude<Unstorable, { readonly index: Constraint }>): Refusal {
  if ('column' in cause) return { refused: 'unstorable', properties: cause.column === undefined ? [] : propertiesOf(layout, [cause.column]) }
  if ('parameter' in cause) return { refused: 'unstorable', properties: columns.slice(cause.parameter - 1, cause.parameter).map(({ property }) => property) }
  // The check that a JSON column holds JSON, which MariaDB calls by the column: it fails if the value is nested too deeply.
  const checked = columns.find(({ name, kind }) => kind === 'json' && cause.check === `${layout.name}.${name}`)
  return checked === undefined ? conflict : { refused: 'unstorable', properties: [checked.property] }
}

function propertiesOf (layout: Layout, columns: readonly string[]): string[] {
  return columns.map((name) => layout.columns.find((column) => column.name === name)?.property ?? name)
}

class SqlCommitRefused extends Error implements CommitRefused {
  readonly refusal: Refusal

  constructor (refusal: Refusal, cause: unknown) {
    super('The transaction was refused when it was committed', { cause })
    this.name = 'CommitRefused'
    this.refusal = refusal
  }
}

/** A violated constraint that no statement of a transaction has reported is one that its commit has; any other error goes on. */
export async function commitRefused (layout: Layout, session: Session, error: unknown): Promise<CommitRefused> {
  const violation = layout.dialect.violation(error)
  if (typeof violation === 'object' && 'unstorable' in violation) throw error
  return new SqlCommitRefused(await refusal(layout, { session, error, assigned: undefined }), error)
}

async function constrained (layout: Layout, session: Session, { constraint, columnsOf }: Constraint): Promise<readonly string[]> {
  const known = layout.shape.unique.find((properties) => uniqueName(layout, properties) === constraint)
  if (known !== undefined && layout.own) return known.map((property) => columnOf(layout, property).name)
  const { signal } = new AbortController()
  const rows = await session.rows({ text: columnsOf(layout.path), values: [constraint], context: { signal } })
  // An index over expressions has no columns to name.
  return rows.length === 0 ? [constraint] : rows.map(([name]) => String(name))
}
