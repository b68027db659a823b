import { BadStorageError, describeValue } from '../bad-storage.ts'

/** How a storage finds its table. The defaults are what `createTable` creates. */
export interface SqlOptions {
  /**
   * The name of the table; `sales.orders` is a table of a schema.
   *
   * @default the name of the collection
   * @example
   * table: 'sales.orders'
   */
  readonly table?: string
  /**
   * The columns of properties that have another name, or a rule for all.
   *
   * @default columns have the names of their properties
   * @example
   * columns: { companyName: 'CompanyName' }
   */
  readonly columns?: 'snake_case' | Readonly<Record<string, string>>
  /**
   * The column for versions that `createTable` creates. An object states that the table was not created by
   * `createTable`.
   *
   * @default 'version'
   * @example
   * version: { column: 'updated_at', as: 'timestamp' }
   */
  readonly version?: string | ExistingVersion
  /**
   * Properties that the database sets at every write: read, never written.
   *
   * @default []
   * @example
   * generated: ['displayName']
   */
  readonly generated?: readonly string[]
  /**
   * Indexes that `createTable` creates for orders other than by id, beside those for `list.order`, `list.filter`
   * and relations. The id is appended to each.
   *
   * @default []
   * @example
   * indexes: [['status', 'createdAt']]
   */
  readonly indexes?: ReadonlyArray<readonly string[]>
  /**
   * The table of the responses that are stored for repeated requests. Several collections can share one.
   *
   * @default the name of the table with `_receipts`
   * @example
   * receipts: 'receipts'
   */
  readonly receipts?: string
}

/** How changes of a row of an existing table are detected. */
export type ExistingVersion =
  /** The table has no column for versions. */
  | { readonly derived: true }
  /**
   * `integer` counts up, `timestamp` is the time of the last change, `system` is maintained by the database (xmin),
   * `random` is what `createTable` creates. Only a random version never repeats; with the others the version of an item
   * is a digest of the row.
   */
  | { readonly column: string, readonly as: 'integer' | 'timestamp' | 'system' | 'random' }

/** What an option has to be, in words. */
export interface OptionKind {
  readonly kind: string
  readonly matches: (value: unknown) => boolean
}

type OptionKinds = Readonly<Record<string, OptionKind>>

export const boolean: OptionKind = { kind: 'true or false', matches: (value) => typeof value === 'boolean' }

const isString = (value: unknown): value is string => typeof value === 'string' && value !== ''
const isNameList = (value: unknown): boolean => Array.isArray(value) && value.every(isString)

const tableName: OptionKind = { kind: 'the name of a table, such as "orders" or "sales.orders"', matches: isString }

const optionKinds: Readonly<Record<keyof SqlOptions, OptionKind>> = {
  table: tableName,
  columns: {
    kind: '"snake_case", or an object with the columns of properties, as in { createdAt: "created" }',
    matches: (value) => value === 'snake_case' || (isPlainObject(value) && Object.values(value).every(isString))
  },
  version: {
    kind: 'the name of a column, { derived: true }, or { column, as } with integer, timestamp, system or random',
    matches: isVersion
  },
  generated: { kind: 'an array of properties', matches: isNameList },
  indexes: {
    kind: 'an array of arrays of properties, as in [["status", "createdAt"]]',
    matches: (value) => Array.isArray(value) && value.every(isNameList)
  },
  receipts: tableName
}

function isPlainObject (value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const versionKinds: readonly unknown[] = ['integer', 'timestamp', 'system', 'random']

function isVersion (value: unknown): boolean {
  if (!isPlainObject(value)) return isString(value)
  const { derived, column, as } = value as { derived?: unknown, column?: unknown, as?: unknown }
  return derived === true || (isString(column) && versionKinds.includes(as))
}

/** Callers that do not use TypeScript can pass anything. `more` are options of one database. */
export function checkSqlOptions (storage: string, options: unknown, more: OptionKinds = {}): void {
  const kinds: OptionKinds = { ...optionKinds, ...more }
  const names = Object.keys(kinds).join(', ')
  if (!isPlainObject(options)) {
    throw new BadStorageError(`The options of ${storage}() are ${describeValue(options)}. ` +
      `Make them an object with ${names}.`)
  }
  for (const [name, value] of Object.entries(options)) {
    const known = Object.hasOwn(kinds, name) ? kinds[name] : undefined
    if (known === undefined) {
      throw new BadStorageError(`${storage}() has no option "${name}". Available options: ${names}.`)
    }
    if (value === undefined || known.matches(value)) continue
    throw new BadStorageError(`The option ${name} of ${storage}() is ${describeValue(value)}. ` +
      `It must be ${known.kind}.`)
  }
}
