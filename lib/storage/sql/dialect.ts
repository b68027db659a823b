import type { Kind } from './kind.ts'

/** What is bound to a placeholder. */
export type Value = string | number | null

/** In the order in which it was asked for. By names, a row would take twice as long to be made and read. */
export type Row = readonly unknown[]

/** The type of a value within JSON. */
export type JsonType = 'string' | 'number' | 'boolean'

/** How the properties nested in a JSON column are reached. `path` leads there from the column. */
export interface JsonFacts {
  /** The name the database has for the type of what is there; SQL's NULL where nothing or null is. */
  type (column: string, path: readonly string[]): string
  readonly types: Readonly<Record<JsonType, readonly string[]>>
  readonly value: Readonly<Record<JsonType, (column: string, path: readonly string[]) => string>>
}

/** How words are searched. */
export interface SearchFacts {
  /** The text in lower case, as far as the database can do that. */
  lowerCase (text: string): string
  /** Whether a text in lower case contains another. */
  contains (text: string, placeholder: string): string
  /** A condition over several texts, each computed once for a row however often the condition names it. */
  once?: (texts: readonly string[], condition: (names: readonly string[]) => string) => string
  /**
   * The part of a word that the database can find, empty if there is none. If it is not the whole word,
   * the rows found are checked again in this process.
   */
  findable (word: string): string
}

/** How a fault is met: tried again at once, told as passing, or left as it is. */
export type Fault = 'again' | 'passing' | 'other'

/** What one database does in its own way. Facts only: the statements are written once, over these. */
export interface Dialect {
  readonly name: string
  readonly quote: (name: string) => string
  readonly placeholder: (position: number) => string

  /** The types of the columns of a table made for a collection. */
  readonly types: Readonly<Record<Kind, string>>
  /** The type of text that is part of a key, of so many characters at most. */
  readonly keyText: (length: number) => string
  /** The most characters that all text in one key has together; `Infinity` where it needs no bound. */
  readonly keyLength: number
  /** The whole of an id column that the database fills. */
  readonly identity: string
  readonly tableOptions: string
  /** Whether a plain index stands within CREATE TABLE, or is a statement of its own. */
  readonly inlineIndexes: boolean
  /** The name of an index and its table, as CREATE INDEX has them. A schema may come ahead of the table. */
  readonly indexOn: (name: string, table: readonly string[]) => string
  /** A check that a JSON column holds JSON; empty where its type sees to it. */
  readonly jsonCheck: (column: string) => string

  /**
   * The catalog of a table, a schema may come ahead of it. Rows are [kind, name of the index, column, expression, predicate]:
   * `column` for each column of the table, `unique` for each part of a unique index, and one of another kind if the table has no
   * indexes that tell whether its rows are unique, as a view. No rows: the table does not exist.
   */
  readonly catalog: (table: readonly string[]) => { readonly text: string, readonly values: Value[] }
  /** One form for all spellings of a column's name. */
  readonly foldName: (name: string) => string
  /** Columns that every table has and the catalog leaves out. */
  readonly hiddenColumns: readonly string[]

  /** Whether INSERT and UPDATE can answer the row written. */
  readonly returning: boolean
  /** What an INSERT without a single column says. */
  readonly emptyInsert: string
  /** What an UPDATE sets where the property is absent, in a table that exists. */
  readonly unset: string

  /** How a column is selected, where not as it is. */
  readonly select: Partial<Readonly<Record<Kind, (column: string) => string>>>
  /** Any column as one text (or as it is), the same text for the same value: for derived versions. */
  readonly textual: (column: string) => string
  /** Equality that holds between NULLs as well. */
  readonly same: (a: string, b: string) => string
  /** How an instant, given in milliseconds UTC by RFC 3339, is bound. */
  readonly instant: (text: string) => string

  /** What is equal exactly where all of these are; the first can use an index. */
  readonly equatable: (column: string, kind: Kind, own: boolean) => readonly [string, ...string[]]
  /** What orders text by code point, and the rest by value. */
  readonly ordered: (column: string, kind: Kind, own: boolean) => string
  /** A column of text, a date or an instant, as the text the item has. */
  readonly text: (column: string, kind: Kind, own: boolean) => string
  /** A number that is no integer, to compare an integer column with. */
  readonly fraction: (placeholder: string) => string
  /** A `like` condition, given as the texts between its stars. */
  readonly like: (text: string, runs: readonly string[], bind: (value: Value) => string) => string
  readonly search: SearchFacts
  readonly order: (expression: string, descending: boolean, nullable: boolean) => string
  /** How many characters of a text without an index are compared to sort rows; `Infinity` if all are. */
  readonly sortLength: number
  /** Whether an index serves `(a, b) > (?, ?)`. */
  readonly rowValues: boolean
  readonly limit: (limit: number) => Value
  readonly json: JsonFacts
  /** A column of a table that exists, with NULL in the place of text that is no JSON, where that would make the statement fail. */
  readonly validJson?: (column: string) => string

  /** Now, and later than what the column holds: for a version kept as a time. */
  readonly now: string
  readonly later: (column: string) => string

  /** Begins a transaction in which nobody else changes what it has read of the table. */
  readonly beginExclusive: (table: string) => readonly string[]

  readonly fault: (error: unknown) => Fault
  /** Whether a value that is bound is one that its column, or its type, cannot hold. */
  readonly isDataException: (error: unknown) => boolean
  /** What a violated constraint is about. */
  readonly violation: (error: unknown) => Violation | undefined
}

export type Violation =
  /** A foreign key or a check. */
  | 'conflict'
  /** A value that cannot be stored, as far as the error tells which. */
  | { readonly unstorable: Unstorable }
  /** A unique key. */
  | { readonly columns: readonly string[] }
  | Constraint

/** Where an error tells but the name, a statement to which it is bound asks for the columns, as `name`. A schema may come ahead of the table. */
export interface Constraint {
  readonly constraint: string
  readonly columnsOf: (table: readonly string[]) => string
}

export type Unstorable =
  | { readonly column: string | undefined }
  /** The number of the parameter, from 1. */
  | { readonly parameter: number }
  /** The name of a check. It is a conflict, unless it is the one that a column holds JSON. */
  | { readonly check: string }
  /** An index whose entries cannot be so long. */
  | { readonly index: Constraint }
