import type { Refusal } from '../contract.ts'
import type { BoundAssignments } from './assignments.ts'
import type { ForeignKeyViolation } from './dialect.ts'
import type { Layout } from './layout.ts'
import type { Session } from './session.ts'

/** What was done when a foreign key was violated. */
export type WriteKind = 'write' | 'remove' | 'commit'

const conflict: Refusal = Object.freeze({ refused: 'conflict' })
const referenced: Refusal = Object.freeze({ refused: 'referenced' })

interface ViolatingWrite {
  readonly session: Session
  readonly kind: WriteKind
  readonly assigned: BoundAssignments | undefined
}

/** Converts a violated foreign key to a refusal. A trigger can violate one of another table, which is a conflict. */
export async function toForeignKeyRefusal (
  layout: Layout,
  { foreignKey: { cause, table, columns } }: ForeignKeyViolation,
  { session, kind, assigned }: ViolatingWrite
): Promise<Refusal> {
  const { dialect } = layout
  if (cause === 'referenced' || (cause === undefined && kind === 'remove')) return referenced
  if (kind === 'remove' || (cause === undefined && kind === 'commit')) return conflict
  if (!dialect.errors.reportsForeignKeys) {
    const properties = assigned === undefined ? [] : await findMissing(layout, session, assigned)
    return properties.length === 0 ? conflict : { refused: 'missing-target', properties }
  }
  if (table !== undefined && dialect.catalog.foldName(table) !== dialect.catalog.foldName(layout.name)) return conflict
  const names = new Set(columns.map(dialect.catalog.foldName))
  const properties = layout.columns.filter(({ name }) => names.has(dialect.catalog.foldName(name)))
  return { refused: 'missing-target', properties: properties.map(({ property }) => property) }
}

/** Finds the properties whose values are not found, for a database that does not report which they are. */
async function findMissing (
  layout: Layout,
  session: Session,
  { columns, values }: BoundAssignments
): Promise<string[]> {
  const { dialect, path } = layout
  const { foldName } = dialect.catalog
  const { signal } = new AbortController()
  const context = { signal }
  const keys = await session.rows({ ...dialect.catalog.foreignKeys(path), context })
  const missing: string[] = []
  for (const [name, table, target, count] of keys) {
    if (Number(count) > 1) continue
    const index = columns.findIndex((column) => foldName(column.name) === foldName(String(name)))
    const value = values[index] ?? null
    if (value === null) continue
    const targetTable = [...path.slice(0, -1), String(table)].map(dialect.quote).join('.')
    const text = `SELECT 1 FROM ${targetTable} WHERE ${dialect.quote(String(target))} = ${dialect.placeholder(1)}`
    const found = await session.rows({ text, values: [value], context })
    if (found.length === 0) missing.push(columns[index]!.property)
  }
  return missing
}
