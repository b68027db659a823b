import type { Dialect, Fault, JsonFacts } from '../sql/dialect.ts'
import { networkFaults } from '../sql/faults.ts'

/** By code point and to the last space: each of the two servers has its own name for that, and reads only its own comment. */
const binary = 'COLLATE /*M!100202 utf8mb4_nopad_bin *//*!80017 utf8mb4_0900_bin */'
const text = `CHARACTER SET utf8mb4 ${binary}`
const exact = (expression: string) => `CONVERT(${expression} USING utf8mb4) ${binary}`
const cast = (column: string) => `CAST(${column} AS CHAR)`

const path = (names: readonly string[]) => literal(`$${names.map((name) => `.${JSON.stringify(name)}`).join('')}`)
const extracted: JsonFacts['value']['string'] = (column, names) => `JSON_EXTRACT(${column}, ${path(names)})`

/** What MySQL and MariaDB do in their own way. */
export const dialect: Dialect = {
  name: 'mysql',
  quote: (name) => `\`${name.replaceAll('`', '``')}\``,
  placeholder: () => '?',

  types: {
    boolean: 'BOOLEAN',
    integer: 'BIGINT',
    number: 'DOUBLE',
    text: `LONGTEXT ${text}`,
    uuid: 'CHAR(36) CHARACTER SET ascii COLLATE ascii_bin',
    date: 'DATE',
    'date-time': 'DATETIME(3)',
    // MySQL's own JSON type changes the order of properties.
    json: `LONGTEXT ${text}`
  },
  keyText: (length) => `VARCHAR(${length}) ${text}`,
  // InnoDB has 3072 bytes for a key, four for each character, and the id may be part of it.
  keyLength: 700,
  identity: 'BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY',
  tableOptions: ' ENGINE=InnoDB',
  inlineIndexes: true,
  indexOn: (name, table) => `${dialect.quote(name)} ON ${table.map(dialect.quote).join('.')}`,
  jsonCheck: (column) => ` CHECK (JSON_VALID(${column}))`,

  catalog (table) {
    const values = [table.length > 1 ? table.slice(0, -1).join('.') : null, ...table.slice(-1)]
    return { text: catalog, values: [...values, ...values, ...values] }
  },
  foldName: (name) => name.toLowerCase(),
  hiddenColumns: [],

  returning: false,
  emptyInsert: '() VALUES ()',
  unset: 'DEFAULT',

  // So that it matters not which types the pool was told to convert.
  select: { date: cast, 'date-time': cast, json: cast },
  textual: (column) => `${exact(cast(column))}`,
  same: (a, b) => `${a} <=> ${b}`,
  instant: (instant) => instant.replace('T', ' ').replace('Z', ''),

  // In a table that exists, the column's own collation finds candidates by its index.
  equatable: (column, kind, own) => own || (kind !== 'text' && kind !== 'uuid') ? [column] : [column, exact(column)],
  ordered: (column, kind, own) => own || (kind !== 'text' && kind !== 'uuid') ? column : exact(column),
  text (column, kind, own) {
    if (kind === 'date-time') return `CONCAT(DATE_FORMAT(${column}, '%Y-%m-%dT%H:%i:%s.'), LPAD(MICROSECOND(${column}) DIV 1000, 3, '0'), 'Z')`
    return own && kind === 'text' ? column : exact(column)
  },
  fraction: (placeholder) => placeholder,
  like: (expression, runs, bind) => `${expression} LIKE ${bind(runs.map((run) => run.replace(/[%_|]/g, '|$&')).join('%'))} ESCAPE '|'`,
  search: {
    lowerCase: (expression) => `LOWER(${expression})`,
    contains: (expression, placeholder) => `LOCATE(${placeholder}, ${expression}) > 0`,
    findable: (word) => word
  },
  order (expression, descending, nullable) {
    const direction = descending ? ' DESC' : ''
    return nullable ? `${expression} IS NULL${direction}, ${expression}${direction}` : `${expression}${direction}`
  },
  // Without an index, rows are sorted by the first 1024 bytes of a text (max_sort_length), while `<` compares all of it.
  sortLength: 255,
  rowValues: false,
  // A number would be bound as one with a fraction.
  limit: String,
  json: {
    type: (column, names) => `NULLIF(JSON_TYPE(${extracted(column, names)}), 'NULL')`,
    types: { string: ['STRING'], number: ['INTEGER', 'UNSIGNED INTEGER', 'DOUBLE', 'DECIMAL'], boolean: ['BOOLEAN'] },
    value: {
      string: (column, names) => exact(`JSON_UNQUOTE(${extracted(column, names)})`),
      number: (column, names) => `JSON_UNQUOTE(${extracted(column, names)}) + 0e0`,
      boolean: (column, names) => `JSON_UNQUOTE(${extracted(column, names)}) = 'true'`
    }
  },

  now: 'CURRENT_TIMESTAMP(6)',
  later: (column) => `GREATEST(CURRENT_TIMESTAMP(6), COALESCE(${column} + INTERVAL 1 MICROSECOND, CURRENT_TIMESTAMP(6)))`,

  // What is read is locked, with the gaps where rows could be inserted. Of two that want to write then, one is undone.
  beginExclusive: () => ['SET TRANSACTION ISOLATION LEVEL SERIALIZABLE', 'BEGIN'],

  fault (error) {
    const { errno = 0, code = '', message } = detail(error)
    return faults[errno] ?? faults[code] ?? (lost.test(message) ? 'passing' : 'other')
  },
  isDataException: (error) => dataExceptions.has(detail(error).errno ?? 0),
  violation (error) {
    const { errno = 0, message } = detail(error)
    // CONSTRAINT `things.place` failed for `app`.`things`
    if (errno === 4025) return { unstorable: { check: /^CONSTRAINT `(.+)` failed for /.exec(message)?.[1] ?? '' } }
    if (conflicts.has(errno)) return 'conflict'
    // Data too long for column 'name' at row 1, or: for column `app`.`things`.`rank` at row 1
    if (dataExceptions.has(errno)) return { unstorable: { column: /for column (?:.*\.)?['`](.+?)['`] at row \d+$/.exec(message)?.[1] } }
    // `Duplicate entry 'x' for key 'users.email'`, or without the table.
    const constraint = message.slice(message.lastIndexOf("'", message.length - 2) + 1, -1)
    return errno === 1062 ? { constraint: constraint.slice(constraint.lastIndexOf('.') + 1), columnsOf } : undefined
  }
}

/** Foreign keys, with a word on which or without; checks on MySQL. */
const conflicts: ReadonlySet<number> = new Set([1451, 1452, 1216, 1217, 3819])

/** Out of range, cut off, of another type, too long, not JSON. */
const dataExceptions: ReadonlySet<number> = new Set([1264, 1265, 1292, 1366, 1406, 1411, 1690, 3140, 3156, 3157])

const columnsOf = (table: readonly string[]) => `SELECT COLUMN_NAME FROM information_schema.STATISTICS
  WHERE TABLE_SCHEMA = ${table.slice(0, -1).map(literal).join() || 'DATABASE()'} AND TABLE_NAME = ${table.slice(-1).map(literal).join()} AND INDEX_NAME = ?
  ORDER BY SEQ_IN_INDEX`

const isTable = 'TABLE_SCHEMA = COALESCE(?, DATABASE()) AND TABLE_NAME = ?'

/** MySQL alone has indexes of expressions. The keys of MariaDB's system-versioned tables end with a column of their own. */
const catalog = `SELECT 'column', NULL, COLUMN_NAME, NULL, NULL FROM information_schema.COLUMNS WHERE ${isTable}
  UNION ALL
  SELECT 'unique', INDEX_NAME, COLUMN_NAME, COALESCE(NULL /*!80013 , EXPRESSION */), NULL FROM information_schema.STATISTICS
  WHERE ${isTable} AND NON_UNIQUE = 0
  UNION ALL
  SELECT 'other', NULL, NULL, NULL, NULL FROM information_schema.TABLES WHERE ${isTable} AND TABLE_TYPE <> 'BASE TABLE'`

function literal (value: string): string {
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}

/** https://mariadb.com/docs/server/reference/error-codes by number. */
const faults: Readonly<Record<string, Fault>> = {
  1213: 'again', // deadlock, and a lost certification in a cluster
  1020: 'again', // changed since it was read
  1021: 'passing', // disk full
  1040: 'passing', // too many connections
  1041: 'passing', // out of memory
  1047: 'passing', // a node that has not joined its cluster
  1053: 'passing', // shutting down
  1114: 'passing', // table full
  1158: 'passing', // network, up to 1161
  1159: 'passing',
  1160: 'passing',
  1161: 'passing',
  1203: 'passing', // too many connections of this user
  1205: 'passing', // a lock that was not to be had in time
  1226: 'passing', // too much asked by this user within the hour
  1290: 'passing', // read-only, as a replica is until it takes over
  1317: 'passing', // cancelled
  1792: 'passing', // read-only transaction
  1836: 'passing', // read-only mode
  1927: 'passing', // connection was killed
  1969: 'passing', // MariaDB's time limit
  3024: 'passing', // MySQL's time limit
  PROTOCOL_CONNECTION_LOST: 'passing',
  PROTOCOL_SEQUENCE_TIMEOUT: 'passing',
  ...networkFaults
}

/** What mysql2 says without a code. */
const lost = /^(?:Queue limit reached|Can't add new command when connection is in closed state|Connection lost)/

function detail (error: unknown): { readonly errno?: number, readonly code?: string, readonly message: string } {
  // mysql2 adds to Error what the types of the language do not know.
  return error instanceof Error ? error as Error & { errno?: number, code?: string } : { message: '' }
}
