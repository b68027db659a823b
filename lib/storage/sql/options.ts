/** How a storage finds its table. What is not said is as `createTable` makes it. */
export interface SqlOptions {
  /** The name of the collection, unless said here; `sales.orders` is a table of a schema. */
  readonly table?: string
  /** The columns of properties that are named otherwise, or a rule for all. */
  readonly columns?: 'snake_case' | Readonly<Record<string, string>>
  /**
   * The column that `createTable` makes for versions; `version` unless said here. Anything but a name tells that
   * the table was not made by `createTable`.
   */
  readonly version?: string | ExistingVersion
  /** Properties that the database fills at every write: read, never written. */
  readonly generated?: readonly string[]
  /** Indexes that `createTable` makes for orders other than by id; the id is added to each. */
  readonly indexes?: ReadonlyArray<readonly string[]>
  /** The table of the answers that are kept for repeated requests; the name of the table with `_receipts` unless said here. Several collections may share one. */
  readonly receipts?: string
}

export type ExistingVersion =
  /** The table has no column for it. */
  | { readonly derived: true }
  /**
   * `integer` counts up, `timestamp` is the time of the last change, `system` is kept by the database (xmin), `random` is as
   * `createTable` makes it. Only a random version never repeats; with the others the version of an item is a digest of the row.
   */
  | { readonly column: string, readonly as: 'integer' | 'timestamp' | 'system' | 'random' }
