import type { TypeFamily } from '../sql/catalog.ts'
import type {
  ErrorKind,
  GivenRows,
  JsonDialect,
  JsonType,
  KeyColumn,
  SqlDialect,
  Value
} from '../sql/dialect.ts'
import { readErrorNumber, readErrorText } from '../sql/driver-error.ts'
import type { Kind } from '../sql/kind.ts'
import { toScale } from '../sql/numerals.ts'
import { networkErrors } from '../sql/storage-error.ts'

/** Compares by code point, trailing spaces included. Each server has its own name, and reads only its own comment. */
const binaryCollation = 'COLLATE /*M!100202 utf8mb4_nopad_bin *//*!80017 utf8mb4_0900_bin */'
const textType = `CHARACTER SET utf8mb4 ${binaryCollation}`
/** The type of a text in JSON_TABLE, which has the character set of the database otherwise. */
const givenText = 'LONGTEXT CHARACTER SET utf8mb4'
const toExact = (expression: string) => `CONVERT(${expression} USING utf8mb4) ${binaryCollation}`
const castToChar = (column: string) => `CAST(${column} AS CHAR)`

function buildPath (names: readonly string[]): string {
  return toLiteral(`$${names.map((name) => `.${JSON.stringify(name)}`).join('')}`)
}

/** In characters. A key of InnoDB has at most 3072 bytes, four for each character. */
const maxKeyLength = 768

const extract: JsonDialect['value']['string'] = (column, names) => `JSON_EXTRACT(${column}, ${buildPath(names)})`

/** An item of an array that JSON_TABLE has read as text. */
const itemValues: Readonly<Record<JsonType, string>> = {
  string: toExact('item.`item value`'),
  number: 'item.`item value` + 0e0',
  boolean: "(item.`item value` = 'true')"
}

/** What is specific to MySQL and MariaDB. */
export const dialect: SqlDialect = {
  name: 'mysql',
  quote: (name) => `\`${name.replaceAll('`', '``')}\``,
  placeholder: () => '?',
  confirmed: '',
  returning: false,
  emptyInsert: '() VALUES ()',
  unset: 'DEFAULT',
  // Does not depend on the types that the pool converts.
  select: { date: castToChar, 'date-time': castToChar, json: castToChar },
  castToText: (column) => toExact(castToChar(column)),
  isSame: (a, b) => `${a} <=> ${b}`,
  toDateTime: (instant) => instant.replace('T', ' ').replace('Z', ''),
  // In an existing table, the collation of the column finds candidates with its index.
  equatable (column, kind, managed) {
    return managed || (kind !== 'text' && kind !== 'uuid') ? [column] : [column, toExact(column)]
  },
  isEqualKey: buildEqualKey,
  ordered (column, kind, managed) {
    return managed || (kind !== 'text' && kind !== 'uuid') ? column : toExact(column)
  },
  text (column, kind, managed) {
    if (kind === 'date-time') {
      const milliseconds = `LPAD(MICROSECOND(${column}) DIV 1000, 3, '0')`
      return `CONCAT(DATE_FORMAT(${column}, '%Y-%m-%dT%H:%i:%s.'), ${milliseconds}, 'Z')`
    }
    return managed && kind === 'text' ? column : toExact(column)
  },
  // Zero dates, and dates with a zero month or day. Those of a time are read as they are.
  readableDate (column, kind, managed) {
    const text = dialect.text(column, kind, managed)
    if (kind === 'date-time') return `CASE WHEN ${text} NOT LIKE '0000%' THEN ${text} END`
    const date = `SUBSTR(${text}, 1, 10)`
    return `CASE WHEN ${text} NOT LIKE '0000%' AND ${date} NOT LIKE '%-00%' THEN ${date} END`
  },
  integerText: castToChar,
  hasNonFinite: false,
  toDouble: (expression) => `(${expression} + 0e0)`,
  castFraction: (placeholder) => placeholder,
  like (expression, runs, bind) {
    const pattern = runs.map((run) => run.replace(/[%_|]/g, '|$&')).join('%')
    return `${expression} LIKE ${bind(pattern)} ESCAPE '|'`
  },
  // LOWER changes letters beyond ASCII as well, and not those that JavaScript changes.
  lowerAscii: (text) => {
    return Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZ').reduce((expression, letter) => {
      return `REPLACE(${expression}, '${letter}', '${letter.toLowerCase()}')`
    }, text)
  },
  search: {
    lowerCase: (expression) => `LOWER(${expression})`,
    contains: (expression, placeholder) => `LOCATE(${placeholder}, ${expression}) > 0`,
    findable: (word) => word
  },
  orderBy (expression, descending, nullable) {
    const direction = descending ? ' DESC' : ''
    return nullable ? `${expression} IS NULL${direction}, ${expression}${direction}` : `${expression}${direction}`
  },
  // Without an index, rows are sorted by the first 1024 bytes of a text (max_sort_length); `<` compares all of it.
  sortLength: 255,
  groupText: (expression) => `SHA2(${expression}, 256)`,
  rowValues: false,
  isExistsRepeated: false,
  // mysql2 binds a number as a double, which LIMIT rejects.
  limit: String,
  json: {
    type: (column, names) => `NULLIF(JSON_TYPE(${extract(column, names)}), 'NULL')`,
    types: {
      string: ['STRING'],
      number: ['INTEGER', 'UNSIGNED INTEGER', 'DOUBLE', 'DECIMAL'],
      boolean: ['BOOLEAN']
    },
    value: {
      string: (column, names) => toExact(`JSON_UNQUOTE(${extract(column, names)})`),
      number: (column, names) => `JSON_UNQUOTE(${extract(column, names)}) + 0e0`,
      boolean: (column, names) => `JSON_UNQUOTE(${extract(column, names)}) = 'true'`
    },
    // Not JSON_CONTAINS: MariaDB compares texts as they are written, with their escapes. The names have spaces, because
    // within the subquery they hide columns of the table.
    hasItem ({ column, path }, { type, bindAll }) {
      const types = dialect.json.types[type].map(toLiteral).join(', ')
      const steps = path.map((name) => `.${JSON.stringify(name)}`).join('')
      const itemPath = `CONCAT(${toLiteral(`$${steps}[`)}, item.\`item place\` - 1, ']')`
      const itemType = `JSON_TYPE(JSON_EXTRACT(${column}, ${itemPath}))`
      const table = `JSON_TABLE(${column}, ${toLiteral(`$${steps}[*]`)} ` +
        `COLUMNS (\`item place\` FOR ORDINALITY, \`item value\` ${givenText} PATH '$')) AS item`
      const found = `SELECT 1 FROM ${table} WHERE ${itemValues[type]} IN (${bindAll()}) AND ${itemType} IN (${types})`
      return `CASE WHEN JSON_TYPE(${extract(column, path)}) = 'ARRAY' THEN EXISTS (${found}) ELSE FALSE END`
    }
  },
  now: 'CURRENT_TIMESTAMP(6)',
  clock: 'FLOOR(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000)',
  later (column) {
    const next = `COALESCE(${column} + INTERVAL 1 MICROSECOND, CURRENT_TIMESTAMP(6))`
    return `GREATEST(CURRENT_TIMESTAMP(6), ${next})`
  },

  // MariaDB has neither OF nor FOR SHARE.
  lockRows: (lock) => lock === 'existence' ? ' LOCK IN SHARE MODE' : ' FOR UPDATE',
  // With REPEATABLE READ, the default.
  locksScanned: true,
  maxBound: 65_535,
  given: buildGiven,
  bindsGiven: false,
  givenKey: convertKey,
  joinGiven: 'STRAIGHT_JOIN',
  writesGiven: 'join',
  // MariaDB has neither LATERAL nor LIMIT in IN.
  pages: 'union',
  catalog: {
    types: {
      boolean: 'BOOLEAN',
      integer: 'BIGINT',
      number: 'DOUBLE',
      text: `LONGTEXT ${textType}`,
      uuid: 'CHAR(36) CHARACTER SET ascii COLLATE ascii_bin',
      date: 'DATE',
      'date-time': 'DATETIME(3)',
      // The JSON type of MySQL changes the order of properties.
      json: `LONGTEXT ${textType}`
    },
    keyText: (length) => `VARCHAR(${length}) ${textType}`,
    // The id may be part of a key.
    keyLength: 700,
    identity: 'BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY',
    tableOptions: ' ENGINE=InnoDB',
    inlineIndexes: true,
    indexOn: (name, table) => `${dialect.quote(name)} ON ${table.map(dialect.quote).join('.')}`,
    jsonCheck: (column) => ` CHECK (JSON_VALID(${column}))`,
    // MySQL accepts a default for LONGTEXT only as an expression.
    toDefault: (value) => `(${typeof value === 'string' ? toLiteral(value) : value})`,
    randomText: 'MD5(CONCAT(RAND(), UUID()))',
    indexText (column, type, { share }) {
      const length = /(?:char|binary)\((\d+)\)/i.exec(type)?.[1] ?? (/text|blob/i.test(type) ? Infinity : 0)
      return Number(length) <= maxKeyLength / share ? column : `${column}(191)`
    },
    query (table) {
      const values = toTableValues(table)
      return { text: catalog, values: [...values, ...values, ...values, ...values] }
    },
    settings: {
      sql_mode: {
        supports (modes, writes) {
          const isStrict = /\bSTRICT_(?:TRANS|ALL)_TABLES\b/.test(modes)
          // Without it, the server shortens texts and changes numbers that a column cannot store, instead of an error.
          if (writes && !isStrict) return false
          return !/\b(?:ORACLE|EMPTY_STRING_IS_NULL|PAD_CHAR_TO_FULL_LENGTH)\b/.test(modes)
        },
        effect: 'so transactions, dates, numbers and texts would not work as elsewhere',
        advice: "Set another one for the pool: pool.on('connection', (connection) => " +
          "connection.query(\"SET sql_mode = 'STRICT_TRANS_TABLES'\"))."
      },
      character_set_client: {
        supports: (characterSet) => characterSet.startsWith('utf8'),
        effect: 'so other characters would be lost',
        advice: 'Remove the option charset of the pool, and skip-character-set-client-handshake of the server.'
      }
    },
    getTypeFamily: (type) => typeFamilies[type.replace(/[ (].*/, '')],
    storeNumeral (type, numeral) {
      const [, precision, scale] = /^decimal\((\d+),(\d+)\)/.exec(type) ?? []
      if (precision !== undefined) return toScale(numeral, Number(precision), Number(scale))
      return dialect.catalog.getTypeFamily(type) === 'number' ? String(Number(numeral)) : numeral
    },
    foldName: (name) => name.toLowerCase(),
    hiddenColumns: [],
    foreignKeys (table, other) {
      if (other === undefined) return { text: foreignKeys, values: toTableValues(table) }
      const isOther = 'REFERENCED_TABLE_SCHEMA = COALESCE(?, DATABASE()) AND REFERENCED_TABLE_NAME = ?'
      return { text: `${foreignKeys} AND ${isOther}`, values: [...toTableValues(table), ...toTableValues(other)] }
    },
    inlineForeignKeys: false,
    checksEachRow: true
  },
  errors: {
    classifyError (error) {
      const { errno = 0, code, message } = getErrorDetail(error)
      const kind = errorKinds[errno] ?? errorKinds[code]
      if (kind !== undefined) return kind
      if (exhaustedPool.test(message)) return 'exhausted'
      return lostConnection.test(message) ? 'unreachable' : 'other'
    },
    isDataException: (error) => dataExceptions.has(getErrorDetail(error).errno ?? 0),
    reportsForeignKeys: true,
    parseViolation (error) {
      const { errno = 0, message } = getErrorDetail(error)
      // CONSTRAINT `things.place` failed for `app`.`things`
      if (errno === 4025) {
        return { unstorable: { check: /^CONSTRAINT `(.+)` failed for /.exec(message)?.[1] ?? '' } }
      }
      const cause = foreignKeyCauses[errno]
      if (cause !== undefined) return { foreignKey: { cause, ...parseForeignKey(message) } }
      if (errno === violatedCheck) return 'conflict'
      // Column 'name' cannot be null; Field 'name' doesn't have a default value
      if (errno === 1048 || errno === 1364) return { notNull: /'(.+?)'/.exec(message)?.[1] ?? '' }
      // Data too long for column 'name' at row 1, or: for column `app`.`things`.`rank` at row 1
      if (dataExceptions.has(errno)) {
        return { unstorable: { column: /for column (?:.*\.)?['`](.+?)['`] at row \d+$/.exec(message)?.[1] } }
      }
      if (errno !== 1062) return undefined
      // Duplicate entry 'x' for key 'users.email', or without the table
      const constraint = message.slice(message.lastIndexOf("'", message.length - 2) + 1, -1)
      return { constraint: constraint.slice(constraint.lastIndexOf('.') + 1), buildColumnsQuery }
    }
  }
}

/** The rows are one JSON, so that the text does not depend on their number. */
function buildGiven ({ name, columns, rows, bind }: GivenRows): string {
  // Numbers are texts as well, which are converted exactly.
  const json = bind(JSON.stringify(rows.map((row) => row.map((value) => value === null ? null : String(value)))))
  const paths = columns.map((column, index) => `${column.name} ${givenText} PATH '$[${index}]'`).join(', ')
  return `JSON_TABLE(${json}, '$[*]' COLUMNS (${paths})) AS ${name}`
}

/** The collation of a found column in an existing table finds candidates with its index. */
function buildEqualKey (found: KeyColumn, given: KeyColumn): string {
  const plain = `${found.sql} = ${given.sql}`
  if (found.kind !== 'text' && found.kind !== 'uuid') return plain
  if (found.managed && given.managed && found.kind === given.kind) return plain
  const exact = `${toExact(found.sql)} = ${toExact(given.sql)}`
  // Two binary collations cannot be compared, and with one the index of the other column is not used.
  if (!found.managed) return given.managed && given.kind === 'text' ? exact : `${plain} AND ${exact}`
  const converted = `${found.sql} = ${convertKey(given.sql, found.kind)}`
  return found.kind === 'uuid' ? `${converted} AND ${exact}` : converted
}

/** A key of the type that the column has, or its index could not be used. */
function convertKey (value: string, kind: Kind): string {
  if (kind === 'integer') return `CAST(${value} AS SIGNED)`
  return kind === 'uuid' ? `CONVERT(${value} USING ascii) COLLATE ascii_bin` : toExact(value)
}

/** Foreign keys. The last two are reported to users without access to the other table. */
const foreignKeyCauses: Readonly<Record<number, 'missing' | 'referenced'>> = {
  1452: 'missing',
  1451: 'referenced',
  1216: 'missing',
  1217: 'referenced'
}

/** A check of MySQL. */
const violatedCheck = 3819

/** ... fails (`app`.`articles`, CONSTRAINT `x` FOREIGN KEY (`author`) REFERENCES `users` (`id`)) */
function parseForeignKey (message: string): { table: string | undefined, columns: string[] } {
  const pattern = /\((?:`[^`]*`\.)?`([^`]+)`, CONSTRAINT .*? FOREIGN KEY \((.+?)\) REFERENCES /
  const [, table, key = ''] = pattern.exec(message) ?? []
  return { table, columns: key.match(/[^`, ]+/g) ?? [] }
}

/** Out of range, truncated, of another type, too long, not JSON. */
const dataExceptions: ReadonlySet<number> = new Set([1264, 1265, 1292, 1366, 1406, 1411, 1690, 3140, 3156, 3157])

function buildColumnsQuery (table: readonly string[]): string {
  const schema = table.slice(0, -1).map(toLiteral).join() || 'DATABASE()'
  const name = table.slice(-1).map(toLiteral).join()
  return `SELECT COLUMN_NAME FROM information_schema.STATISTICS
  WHERE TABLE_SCHEMA = ${schema} AND TABLE_NAME = ${name} AND INDEX_NAME = ?
  ORDER BY SEQ_IN_INDEX`
}

/** The values of `isTable`. */
function toTableValues (table: readonly string[]): Value[] {
  return [table.length > 1 ? table.slice(0, -1).join('.') : null, ...table.slice(-1)]
}

const isTable = 'TABLE_SCHEMA = COALESCE(?, DATABASE()) AND TABLE_NAME = ?'

/** Only MySQL has indexes over expressions. Keys of system-versioned tables of MariaDB end with a system column. */
const catalog = `SELECT 'column', CASE
      WHEN COLLATION_NAME LIKE '%nopad_bin' OR COLLATION_NAME LIKE '%0900_bin' OR COLLATION_NAME = 'binary' THEN NULL
      ELSE COLLATION_NAME END,
    COLUMN_NAME,
    CASE WHEN DATA_TYPE IN ('char', 'varchar', 'binary', 'varbinary', 'decimal') THEN COLUMN_TYPE
      WHEN COLUMN_TYPE LIKE '%unsigned%' THEN CONCAT(DATA_TYPE, ' unsigned') ELSE DATA_TYPE END,
    CASE WHEN IS_NULLABLE = 'YES' THEN NULL
      WHEN COLUMN_DEFAULT IS NULL AND EXTRA = '' THEN 'needs value' ELSE 'not null' END, 0
  FROM information_schema.COLUMNS WHERE ${isTable}
  UNION ALL
  SELECT CASE WHEN NON_UNIQUE = 0 THEN 'unique' ELSE 'index' END, INDEX_NAME, COLUMN_NAME,
    COALESCE(NULL /*!80013 , EXPRESSION */), NULL, SEQ_IN_INDEX
  FROM information_schema.STATISTICS WHERE ${isTable}
  UNION ALL
  SELECT 'trigger', NULL, NULL, NULL, NULL, 0 FROM information_schema.TRIGGERS
  WHERE EVENT_OBJECT_SCHEMA = COALESCE(?, DATABASE()) AND EVENT_OBJECT_TABLE = ?
    AND ACTION_TIMING = 'BEFORE' AND EVENT_MANIPULATION = 'INSERT'
  UNION ALL
  SELECT 'other', NULL, NULL, NULL, NULL, 0
  FROM information_schema.TABLES WHERE ${isTable} AND TABLE_TYPE <> 'BASE TABLE'
  UNION ALL
  SELECT 'setting', 'sql_mode', NULL, @@sql_mode, NULL, 0
  UNION ALL
  SELECT 'setting', 'character_set_client', NULL, @@character_set_client, NULL, 0`

const foreignKeys = `SELECT COLUMN_NAME, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME,
    COUNT(*) OVER (PARTITION BY CONSTRAINT_NAME)
  FROM information_schema.KEY_COLUMN_USAGE WHERE ${isTable} AND REFERENCED_TABLE_NAME IS NOT NULL`

const typeFamilies: Readonly<Record<string, TypeFamily | undefined>> = {
  tinyint: 'number',
  smallint: 'number',
  mediumint: 'number',
  int: 'number',
  bigint: 'number',
  decimal: 'number',
  float: 'number',
  double: 'number',
  year: 'number',
  char: 'text',
  varchar: 'text',
  tinytext: 'text',
  text: 'text',
  mediumtext: 'text',
  longtext: 'text',
  enum: 'text',
  set: 'text',
  uuid: 'uuid',
  date: 'date',
  datetime: 'timestamp',
  timestamp: 'timestamp',
  json: 'json',
  binary: 'binary',
  varbinary: 'binary',
  tinyblob: 'binary',
  blob: 'binary',
  mediumblob: 'binary',
  longblob: 'binary'
}

function toLiteral (value: string): string {
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}

/** By number: https://mariadb.com/docs/server/reference/error-codes */
const errorKinds: Readonly<Record<string, ErrorKind>> = {
  1213: 'retry', // deadlock, and a failed certification in a cluster
  3101: 'retry', // a failed certification in MySQL Group Replication
  1020: 'retry', // changed since it was read
  1021: 'full', // disk
  1040: 'exhausted', // too many connections
  1041: 'unreachable', // out of memory
  1054: 'mismatch', // a column
  1146: 'missing-table',
  1047: 'unreachable', // a node that has not joined its cluster
  1053: 'unreachable', // shutting down
  1114: 'full', // table
  1158: 'unreachable', // network, up to 1161
  1159: 'unreachable',
  1160: 'unreachable',
  1161: 'unreachable',
  1180: 'unreachable', // failed commit, such as of a node that has left its cluster
  1203: 'exhausted', // too many connections of this user
  1205: 'unreachable', // lock timeout
  1226: 'exhausted', // a resource limit of this user
  1290: 'read-only', // as a replica until it is promoted
  1317: 'unreachable', // cancelled
  1792: 'read-only', // a transaction
  1836: 'read-only', // a mode of MySQL
  1927: 'unreachable', // connection was killed
  1969: 'unreachable', // MariaDB's time limit
  3024: 'unreachable', // MySQL's time limit
  PROTOCOL_CONNECTION_LOST: 'unreachable',
  PROTOCOL_SEQUENCE_TIMEOUT: 'unreachable',
  ...networkErrors
}

/** Errors of mysql2 without a code: of a pool with `queueLimit`, or with `waitForConnections: false`. */
const exhaustedPool = /^(?:Queue limit reached|No connections available)/

const lostConnection = new RegExp(`^(?:${[
  "Can't add new command when connection is in closed state",
  'Connection lost'
].join('|')})`)

/** What mysql2 adds to an error. */
function getErrorDetail (error: unknown) {
  return {
    errno: readErrorNumber(error, 'errno'),
    code: readErrorText(error, 'code'),
    message: readErrorText(error, 'message')
  }
}
