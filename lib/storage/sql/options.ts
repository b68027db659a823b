/** How a storage finds its table. The defaults are what `createTable` creates. */
export interface SqlOptions {
  /** The name of the table, by default that of the collection; `sales.orders` is a table of a schema. */
  readonly table?: string
  /** The columns of properties that have another name, or a rule for all. */
  readonly columns?: 'snake_case' | Readonly<Record<string, string>>
  /**
   * The column for versions that `createTable` creates, by default `version`. An object states that the table was not
   * created by `createTable`.
   */
  readonly version?: string | ExistingVersion
  /** Properties that the database sets at every write: read, never written. */
  readonly generated?: readonly string[]
  /** Indexes that `createTable` creates for orders other than by id; the id is appended to each. */
  readonly indexes?: ReadonlyArray<readonly string[]>
  /**
   * The table of the responses that are stored for repeated requests, by default the name of the table with
   * `_receipts`. Several collections can share one.
   */
  readonly receipts?: string
}

export type ExistingVersion =
  /** The table has no column for versions. */
  | { readonly derived: true }
  /**
   * `integer` counts up, `timestamp` is the time of the last change, `system` is maintained by the database (xmin),
   * `random` is what `createTable` creates. Only a random version never repeats; with the others the version of an item
   * is a digest of the row.
   */
  | { readonly column: string, readonly as: 'integer' | 'timestamp' | 'system' | 'random' }
