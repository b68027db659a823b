import type { Commit } from './database.ts'
import type { Row } from './transaction.ts'

/** The rows of the service between two commits. */
export class State {
  readonly #tables: ReadonlyMap<string, ReadonlyMap<string, Row>>

  constructor (tables: ReadonlyMap<string, ReadonlyMap<string, Row>> = new Map()) {
    this.#tables = tables
  }

  find (table: string, id: string): Row | undefined {
    return this.#tables.get(table)?.get(id)
  }

  /** All rows of a table, in the order of their ids. */
  list (table: string): Row[] {
    const rows = [...this.#tables.get(table) ?? []]
    return rows.sort(([a], [b]) => a < b ? -1 : 1).map(([, row]) => row)
  }

  apply (writes: readonly Write[]): State {
    const tables = new Map(this.#tables)
    for (const { table, id, row } of writes) {
      const rows = new Map(tables.get(table))
      if (row === undefined) rows.delete(id)
      else rows.set(id, row)
      tables.set(table, rows)
    }
    return new State(tables)
  }

  applyCommit ({ changes }: Commit): State {
    return this.apply(changes.map(({ table, id, after }) => ({ table, id: String(id), row: after?.item })))
  }

  /** The rows that differ from another state. The log is not part of the model. */
  findDifferences (other: State): Array<{ readonly table: string, readonly id: string }> {
    const tables = new Set([...this.#tables.keys(), ...other.#tables.keys()])
    tables.delete('logs')
    return [...tables].flatMap((table) => {
      const ids = new Set([...this.#tables.get(table)?.keys() ?? [], ...other.#tables.get(table)?.keys() ?? []])
      return [...ids]
        .filter((id) => normalizeRow(this.find(table, id)) !== normalizeRow(other.find(table, id)))
        .map((id) => ({ table, id }))
    })
  }
}

/** A row to store, or to remove. */
export interface Write {
  readonly table: string
  readonly id: string
  readonly row: Row | undefined
}

export function isLive (row: Row | undefined): row is Row {
  return row !== undefined && (row.deletedAt ?? null) === null
}

/** The same rows are compared in many states. */
const normalized = new WeakMap<Row, string>()

/** The model does not know when a row was deleted. */
export function normalizeRow (row: Row | undefined): string {
  if (row === undefined) return 'none'
  const known = normalized.get(row)
  if (known !== undefined) return known
  const { deletedAt, ...rest } = row
  const text = `${isLive(row) ? '' : 'deleted '}${toText(rest)}`
  normalized.set(row, text)
  return text
}

/** The properties that are not undefined, in one order. */
export function toText (row: Row): string {
  const entries = Object.entries(row).filter(([, value]) => value !== undefined)
  return JSON.stringify(entries.sort(([a], [b]) => a < b ? -1 : 1))
}
