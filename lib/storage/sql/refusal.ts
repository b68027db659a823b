import type { Refusal } from '../contract.ts'
import type { Violation } from './dialect.ts'
import { columnOf, type Layout } from './layout.ts'
import type { Session } from './session.ts'

type Named = Extract<Violation, { readonly constraint: string }>

const conflict: Refusal = Object.freeze({ refused: 'conflict' })

/** Long enough for every database: PostgreSQL cuts names at 63 bytes. */
const nameLength = 60

/** The name of the constraint that keeps these members unique, in a table made for the collection. */
export function uniqueName ({ name }: Layout, members: readonly string[]): string {
  return `${name}_${members.join('_')}_unique`.slice(-nameLength)
}

/** A violated constraint as a refusal; any other error goes on. */
export async function refusal (layout: Layout, session: Session, error: unknown): Promise<Refusal> {
  const violation = layout.dialect.violation(error)
  if (violation === undefined) throw error
  if (violation === 'conflict') return conflict
  const columns = 'columns' in violation ? violation.columns : await constrained(layout, session, violation)
  return { refused: 'taken', members: columns.map((name) => layout.columns.find((column) => column.name === name)?.member ?? name) }
}

async function constrained (layout: Layout, session: Session, { constraint, columnsOf }: Named): Promise<readonly string[]> {
  const known = layout.shape.unique.find((members) => uniqueName(layout, members) === constraint)
  if (known !== undefined && layout.own) return known.map((member) => columnOf(layout, member).name)
  const { signal } = new AbortController()
  const rows = await session.rows({ text: columnsOf(layout.path), values: [constraint], context: { signal } })
  // An index over expressions has no columns to name.
  return rows.length === 0 ? [constraint] : rows.map(([name]) => String(name))
}
