import type { TypeFamily } from './catalog.ts'
import type { Kind } from './kind.ts'

/** A value that is bound to a placeholder. */
export type Value = string | number | null

/** The values in the order of the SELECT. Rows with names would take twice as long to create and read. */
export type Row = readonly unknown[]

/** The type of a value within JSON. */
export type JsonType = 'string' | 'number' | 'boolean'

/** How a database reads properties that are nested in a JSON column. `path` leads there from the column. */
export interface JsonDialect {
  /** The name that the database has for the type of the value; NULL if there is no value, or null. */
  type (column: string, path: readonly string[]): string
  readonly types: Readonly<Record<JsonType, readonly string[]>>
  readonly value: Readonly<Record<JsonType, (column: string, path: readonly string[]) => string>>
  /** Whether an array has an item of this type with one of these values. False, not NULL, if it is no array. */
  hasItem (array: JsonArray, items: JsonItems): string
}

/** An array in a JSON column. */
export interface JsonArray {
  readonly column: string
  readonly path: readonly string[]
}

/** The items that an array is searched for: of one type, and bound to placeholders with `bindAll`. */
export interface JsonItems {
  readonly type: JsonType
  /** Returns the placeholders, separated by commas. */
  readonly bindAll: () => string
}

/** How a database searches words. */
export interface SearchDialect {
  /** The text in lower case, as far as the database supports it. */
  lowerCase (text: string): string
  /** Whether a text in lower case contains another. */
  contains (text: string, placeholder: string): string
  /** A condition over several texts, each computed once per row however often the condition uses it. */
  once?: (texts: readonly string[], condition: (names: readonly string[]) => string) => string
  /**
   * The part of a word that the database can find, empty if there is none. If it is not the whole word, the rows found
   * are checked again in this process.
   */
  findable (word: string): string
}

/** Rows of values, given as a table that a statement joins with that of the collection. */
export interface GivenRows {
  /** The quoted name of the given table, and those of its columns. */
  readonly name: string
  readonly columns: readonly GivenColumn[]
  readonly rows: ReadonlyArray<readonly Value[]>
  readonly bind: Bind
}

export interface GivenColumn {
  readonly name: string
  readonly kind: Kind
  /** A column of an existing table, whose type is not known, with its table. */
  readonly like?: readonly [column: string, table: string] | undefined
}

/** A column with keys of rows. `managed` tells whether its table is as `createTable` creates it. */
export interface KeyColumn {
  readonly sql: string
  readonly kind: Kind
  readonly managed: boolean
}

/** Binds a value and returns its placeholder. Called in the order of the text. */
export type Bind = (value: Value) => string

/** A setting of a connection with which values could be lost, changed or misread. */
export interface ConnectionSetting {
  /** `writes` is whether the collection writes. */
  readonly supports: (value: string, writes: boolean) => boolean
  /** What happens with other values: the end of a sentence. */
  readonly effect: string
  /** What to do about it: a sentence. */
  readonly advice: string
}

/** A temporary failure, and what is wrong. */
export type FailureKind =
  | 'unreachable'
  /** Other transactions came first, each time that it was repeated. */
  | 'contended'
  /** The server, or the file, refuses writes. */
  | 'read-only'
  /** There is no space for another row. */
  | 'full'
  /** The file cannot be read or written. */
  | 'io-error'
  /** The pool has no free connection, or the server accepts no further one. */
  | 'exhausted'
  /** A table does not exist, as before it was created. */
  | 'missing-table'
  /** A column does not exist or differs from the definition, as before a migration. */
  | 'mismatch'

/** Whether an error is retried at once, reported as a temporary failure, or thrown as it is. */
export type ErrorKind = 'retry' | FailureKind | 'other'

/** What must not happen to the rows before the transaction ends: as in `Query`. */
export type RowLock = 'change' | 'existence' | 'removal'

/** How a database writes statements. `managed` tells whether the table is as `createTable` creates it. */
export interface Syntax {
  readonly quote: (name: string) => string
  readonly placeholder: (position: number) => string
  // Reading and writing rows

  /** The end of a SELECT that waits until the row that it reads is confirmed by synchronous standbys. */
  readonly confirmed: string
  /** Whether INSERT and UPDATE can return the written row. */
  readonly returning: boolean
  /** The end of an INSERT without columns. */
  readonly emptyInsert: string
  /** What UPDATE sets if the property is missing, in an existing table. */
  readonly unset: string

  // Columns and values

  /** How a column is selected, if not as it is. */
  readonly select: Partial<Readonly<Record<Kind, (column: string) => string>>>
  /** Any column as text (or as it is), the same text for the same value: for digests of a row. */
  readonly castToText: (column: string) => string
  /**
   * An expression that is null and has the type of a column. Statements that select all columns as text also select it,
   * if the database notices only by selected types that a prepared statement is outdated.
   */
  readonly typedNull?: (column: string) => string
  /** Equality that holds between NULLs as well. */
  readonly isSame: (a: string, b: string) => string
  /** How an instant, in UTC with milliseconds (RFC 3339), is bound. */
  readonly toDateTime: (instant: string) => string
  /** Expressions that together test for equality: the first can use an index, and the last is exact. */
  readonly equatable: (column: string, kind: Kind, managed: boolean) => readonly [string, ...string[]]
  /** Whether two columns have the same value. An index of the first is used. */
  readonly isEqualKey: (found: KeyColumn, given: KeyColumn) => string
  /** The test of an expression after the first, for the rows that the first has found. The default is the test. */
  readonly recheck?: (test: string, first: string) => string
  /** An expression that orders text by code point, and other kinds by value. */
  readonly ordered: (column: string, kind: Kind, managed: boolean) => string
  /** A column of text, a date or an instant, as the text of the item. */
  readonly text: (column: string, kind: Kind, managed: boolean) => string
  /** The same for a date or an instant. NULL if another writer has stored one that cannot be read. */
  readonly readableDate: (column: string, kind: 'date' | 'date-time', managed: boolean) => string
  /** An integer of any size as text. */
  readonly integerText: (expression: string) => string

  // Numbers

  /** Whether a column can have NaN or infinity, which another writer may have stored. */
  readonly hasNonFinite: boolean
  /** A number as a double. */
  readonly toDouble: (expression: string) => string
  /** A number that is not an integer, to compare an integer column with. */
  readonly castFraction: (placeholder: string) => string

  // Texts

  /** A `like` condition, given as the texts between its stars. */
  readonly like: (text: string, runs: readonly string[], bind: (value: Value) => string) => string
  /** The text with small letters in place of A to Z, and no other change. */
  readonly lowerAscii: (text: string) => string
  readonly search: SearchDialect

  // Order and pages

  readonly orderBy: (expression: string, descending: boolean, nullable: boolean) => string
  /** How many characters of a text without an index are compared to sort rows; `Infinity` for all. */
  readonly sortLength: number
  /** A short text that is equal for equal texts, if rows are sorted by the beginning of a text to group them. */
  readonly groupText?: (expression: string) => string
  /** Whether an index serves `(a, b) > (?, ?)`. */
  readonly rowValues: boolean
  readonly limit: (limit: number) => Value
  /** Whether EXISTS is evaluated for each row, whatever it costs, instead of being planned as a join. */
  readonly isExistsRepeated: boolean

  // JSON

  readonly json: JsonDialect
  /** A column of an existing table, with NULL for text that is not JSON, if that would make the statement fail. */
  readonly validJson?: (column: string) => string

  // Times

  /** The current time, for a version column with timestamps. */
  readonly now: string
  /** The current time in milliseconds since 1970; undefined if the database has the clock of the process. */
  readonly clock?: string
  /** The current time, but later than the value of the column. */
  readonly later: (column: string) => string

  // Locks

  /**
   * Follows a SELECT in a transaction that locks its rows; empty if the transaction excludes all others. With an alias:
   * only the rows of one of several tables, as far as the database can do that.
   */
  readonly lockRows: (lock: RowLock, alias?: string) => string
  /** Whether a locking SELECT locks rows that it reads and that do not match. Then rows are locked by their ids. */
  readonly locksScanned: boolean

  // Given rows: writes of many rows, and pages of related items

  /** How many values a statement can bind. */
  readonly maxBound: number
  /** Builds the table of given rows. */
  readonly given: (rows: GivenRows) => string
  /** Whether each value of it is bound by itself, so that the text depends on the number of rows. */
  readonly bindsGiven: boolean
  /** A key of the given rows, of the type that the column has; the default is the key itself. */
  readonly givenKey?: (value: string, kind: Kind) => string
  /** What joins the given rows with a table so that they are read first. */
  readonly joinGiven: string
  /**
   * How UPDATE and DELETE name the given rows: with FROM and USING; with FROM and a subquery; or both by a join. With
   * USING, the version of a row for which the statement has waited is compared again.
   */
  readonly writesGiven: 'using' | 'subquery' | 'join'
  /**
   * How a page is read for each of several values: with LATERAL; by the ids that a subquery finds for a value; or by
   * those of a SELECT for each value, joined by UNION ALL.
   */
  readonly pages: 'lateral' | 'subquery' | 'union'
}

/** How a database creates tables, and how it tells what a table has. */
export interface CatalogDialect {
  /** The column types of a table created for a collection. */
  readonly types: Readonly<Record<Kind, string>>
  /** The type of a text that is part of a key, with this many characters at most. */
  readonly keyText: (length: number) => string
  /** The maximum length of all texts in one key together; `Infinity` if there is none. */
  readonly keyLength: number
  /** The definition of an id column that the database generates. */
  readonly identity: string
  readonly tableOptions: string
  /** Whether a plain index is part of CREATE TABLE, or a separate statement. */
  readonly inlineIndexes: boolean
  /** The name of an index and its table in CREATE INDEX. A schema may precede the table. */
  readonly indexOn: (name: string, table: readonly string[]) => string
  /** A check that a JSON column contains JSON; empty if its type ensures that. */
  readonly jsonCheck: (column: string) => string
  /** A value as the default of a column that is added. */
  readonly toDefault: (value: Value) => string
  /** A random text, different in every row. */
  readonly randomText: string
  /**
   * A text column of this type as a part of an index, or the beginning of its values; undefined if they can be too long
   * for one. `maxLength` is that of the schema, and `share` the number of columns of the index.
   */
  readonly indexText: (
    column: string,
    type: string,
    limits: { readonly maxLength: number, readonly share: number }
  ) => string | undefined
  /** The statement that makes a column nullable, if that needs no more than its name. */
  readonly dropNotNull?: (table: string, column: string) => string
  /**
   * The query for the catalog of a table; a schema may precede the table. Its rows are [kind, name of the index,
   * column, detail, condition, position]:
   * - `column` for each column of the table: the name is that of its collation, or of its type, if different texts are
   *   equal in it; the detail is its type, and the condition `not null`, or `needs value` if there is no default
   *   either, or NULL;
   * - `unique` and `index` for each part of an index: the detail is its expression, the condition its predicate;
   * - `trigger` if a trigger can set columns of new rows;
   * - `setting` for each of `settings`: the name is that of the setting, and the detail its value;
   * - another kind if the table has no indexes that could ensure uniqueness, as a view.
   * Only settings: the table does not exist.
   */
  readonly query: (table: readonly string[]) => { readonly text: string, readonly values: Value[] }
  readonly settings: Readonly<Record<string, ConnectionSetting>>
  /** What a type of the catalog stores, in lower case; undefined if that is not known. */
  readonly getTypeFamily: (type: string) => TypeFamily | undefined
  /**
   * What a column of a type of the catalog returns for a numeral such as "9.50" that was stored as text; undefined if
   * it cannot store that.
   */
  readonly storeNumeral: (type: string, numeral: string) => string | undefined
  /** One form for all spellings of a column's name. */
  readonly foldName: (name: string) => string
  /** Columns that every table has and the catalog leaves out. */
  readonly hiddenColumns: readonly string[]
  /**
   * The query for the columns of foreign keys: the column, the other table, its column, and how many the key has. With
   * `other`, those to this table. A schema may precede both.
   */
  readonly foreignKeys: (
    table: readonly string[],
    other?: readonly string[]
  ) => { readonly text: string, readonly values: Value[] }
  /** Whether foreign keys are part of CREATE TABLE, even if the other table is missing, and cannot be added later. */
  readonly inlineForeignKeys: boolean
  /** Whether each row is checked by itself: a row that refers to itself or to another removed one cannot be removed. */
  readonly checksEachRow: boolean
}

/** What the errors of a database mean. */
export interface ErrorDialect {
  readonly classifyError: (error: unknown) => ErrorKind
  /** Whether the error reports a value that its column, or its type, cannot store. */
  readonly isDataException: (error: unknown) => boolean
  /** Whether errors report which foreign key is violated. */
  readonly reportsForeignKeys: boolean
  /** What a violated constraint is about. */
  readonly parseViolation: (error: unknown) => Violation | undefined
}

/** What is specific to one database. The statements are written once, over this. */
export interface SqlDialect extends Syntax {
  readonly name: string
  readonly catalog: CatalogDialect
  readonly errors: ErrorDialect
}

export type Violation =
  /** A check, or the like. */
  | 'conflict'
  | ForeignKeyViolation
  /** A value that cannot be stored. */
  | { readonly unstorable: Unstorable }
  /** A column that must have a value. */
  | { readonly notNull: string }
  /** A unique key. */
  | { readonly columns: readonly string[] }
  | Constraint

/** A foreign key, with what the error reports about it. */
export interface ForeignKeyViolation {
  readonly foreignKey: {
    /** Whether a value is not found in the other table, or other rows refer to the row. */
    readonly cause: 'missing' | 'referenced' | undefined
    /** The table that has the foreign key. */
    readonly table: string | undefined
    /** Its columns. */
    readonly columns: readonly string[]
  }
}

/** A constraint that the error reports only by name. */
export interface Constraint {
  readonly constraint: string
  /** The query for its columns; the name of the constraint is bound to it. A schema may precede the table. */
  readonly buildColumnsQuery: (table: readonly string[]) => string
}

/** Which value cannot be stored, as far as the error reports it. */
export type Unstorable =
  | { readonly column: string | undefined }
  /** The number of the parameter, from 1. */
  | { readonly parameter: number }
  /** The name of a check. It is a conflict, unless it is the check that a column contains JSON. */
  | { readonly check: string }
  /** An index whose entries cannot be that long. */
  | { readonly index: Constraint }
