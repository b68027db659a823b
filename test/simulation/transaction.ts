import type { Entry, Id, Receipt, Storage, TransactionHandle } from '../../lib/storage/contract.ts'
import type { Table } from '../../lib/storage/memory/table.ts'
import { TransactionRows } from '../../lib/storage/memory/transaction-rows.ts'
import { running } from './world.ts'

export type Row = Record<string, unknown>

/** The rows of histories contain no objects. To clone them takes longer. */
export function copyRow (row: Readonly<Row>): Row {
  return Object.values(row).some(isObject) ? structuredClone(row) : { ...row }
}

function isObject (value: unknown): boolean {
  return typeof value === 'function' || (typeof value === 'object' && value !== null)
}

/** The database has rolled the transaction back. It runs again. */
export class RolledBack extends Error {}

/** The attempt on whose behalf code runs. */
export function getOwner (): string {
  return running.getStore() ?? 'nobody'
}

/** An open transaction of the simulated database, or one statement outside of a transaction. */
export class SimulatedTransaction implements TransactionHandle {
  /** The database as one process sees it. */
  readonly database: object
  /** The attempt on whose behalf it runs. */
  readonly owner = getOwner()
  readonly receipts = new Map<string, Receipt>()
  /** The storages that have joined it. */
  readonly storages = new Map<Table<Row>, Storage<Row>>()
  hasEnded = false
  /** Why it can only be rolled back. */
  failure: Error | undefined
  /** With SERIALIZABLE: why its commit will fail. */
  conflict: Error | undefined
  readonly #parts = new Map<Table<Row>, TransactionRows<Row>>()
  readonly #written = new Map<Table<Row>, Set<Id>>()
  readonly #read = new Map<Table<Row>, Set<Id> | 'all'>()

  constructor (database: object) {
    this.database = database
  }

  /** The rows of a table as this transaction sees them. */
  getRows (table: Table<Row>): TransactionRows<Row> | Table<Row> {
    return this.#parts.get(table) ?? table
  }

  set (table: Table<Row>, id: Id, entry: Entry<Row> | undefined): void {
    if (!this.#parts.has(table)) this.#parts.set(table, new TransactionRows(table))
    this.#parts.get(table)!.set(id, entry)
    this.#written.set(table, (this.#written.get(table) ?? new Set()).add(id))
  }

  /** The rows that it has written, with what each of them is after the commit. */
  get writes (): Array<{ readonly table: Table<Row>, readonly id: Id, readonly after: Entry<Row> | undefined }> {
    return [...this.#written].flatMap(([table, ids]) => {
      return [...ids].map((id) => ({ table, id, after: this.getRows(table).get(id) }))
    })
  }

  commit (): void {
    for (const rows of this.#parts.values()) rows.commit()
  }

  addRead (table: Table<Row>, id: Id | undefined): void {
    const known = this.#read.get(table)
    if (known === 'all') return
    this.#read.set(table, id === undefined ? 'all' : (known ?? new Set<Id>()).add(id))
  }

  hasRead (table: Table<Row>, id: Id): boolean {
    const known = this.#read.get(table)
    return known === 'all' || known?.has(id) === true
  }
}
