import type { TypeFamily } from '../sql/catalog.ts'
import type {
  ErrorKind,
  GivenRows,
  SqlDialect,
  Value,
  Violation
} from '../sql/dialect.ts'
import { readErrorNumber, readErrorText } from '../sql/driver-error.ts'

function buildPath (names: readonly string[]): string {
  return toLiteral(`$${names.map((name) => `."${name}"`).join('')}`)
}

function extract (column: string, names: readonly string[]): string {
  return `json_extract(${column}, ${buildPath(names)})`
}

/** Compares bytes, with the index of the column if that is its collation, as by default. */
const toBinary = (expression: string) => `${expression} COLLATE BINARY`

/** What is specific to SQLite. */
export const dialect: SqlDialect = {
  name: 'sqlite',
  quote: (name) => `"${name.replaceAll('"', '""')}"`,
  placeholder: () => '?',
  confirmed: '',
  returning: true,
  emptyInsert: 'DEFAULT VALUES',
  unset: 'NULL',
  select: {},
  castToText: (column) => column,
  isSame: (a, b) => `${a} IS ${b}`,
  toDateTime: (text) => text,
  // Explicit in every table, because the catalog does not have the collation of a column.
  equatable: (column, kind, managed) => [kind === 'text' ? toBinary(column) : dialect.ordered(column, kind, managed)],
  // The collation of the left column is used. An explicit one takes precedence.
  isEqualKey (found, given) {
    const [left] = dialect.equatable(found.sql, found.kind, found.managed)
    return `${left} = ${dialect.ordered(given.sql, given.kind, given.managed)}`
  },
  ordered (column, kind, managed) {
    if (managed) return column
    // Existing tables have times in any form of SQLite, and text in any collation.
    if (kind === 'date-time') return `strftime('%Y-%m-%dT%H:%M:%fZ', ${column})`
    if (kind === 'date') return `date(${column})`
    return kind === 'text' || kind === 'uuid' ? toBinary(column) : column
  },
  text: (column, kind, managed) => dialect.ordered(column, kind, managed),
  // Years before 0001 are negative, or 0000. Other text than a date is NULL.
  readableDate (column, kind) {
    const text = dialect.ordered(column, kind, false)
    return `CASE WHEN ${text} >= '0001' THEN ${text} END`
  },
  integerText: (expression) => `CAST(${expression} AS TEXT)`,
  hasNonFinite: true,
  toDouble: (expression) => `CAST(${expression} AS REAL)`,
  castFraction: (placeholder) => placeholder,
  like: buildLike,
  lowerAscii: (text) => `lower(${text})`,
  search: {
    lowerCase: (text) => `lower(${text})`,
    contains: (text, placeholder) => `instr(${text}, ${placeholder}) > 0`,
    findable: getFindablePart
  },
  orderBy (expression, descending, nullable) {
    const ordered = descending ? `${expression} DESC` : expression
    if (!nullable) return ordered
    return `${ordered} NULLS ${descending ? 'FIRST' : 'LAST'}`
  },
  sortLength: Infinity,
  rowValues: true,
  isExistsRepeated: true,
  limit: (limit) => limit,
  json: {
    type: (column, names) => `NULLIF(json_type(${column}, ${buildPath(names)}), 'null')`,
    types: { string: ['text'], number: ['integer', 'real'], boolean: ['true', 'false'] },
    value: {
      string: extract,
      // Rounds integers beyond 2^53 as JavaScript does.
      number: (column, names) => `CAST(${extract(column, names)} AS REAL)`,
      boolean: extract
    },
    hasItem ({ column, path }, { type, bindAll }) {
      const types = dialect.json.types[type].map(toLiteral).join(', ')
      const value = type === 'number' ? 'CAST(item.value AS REAL)' : 'item.value'
      // json_each would take a column such as "type" for one of its own.
      const found = `SELECT 1 FROM (SELECT ${column} AS "json column") AS holder, ` +
        `json_each(holder."json column", ${buildPath(path)}) AS item ` +
        `WHERE item.type IN (${types}) AND ${value} IN (${bindAll()})`
      return `CASE WHEN json_type(${column}, ${buildPath(path)}) = 'array' THEN EXISTS (${found}) ELSE 0 END`
    }
  },
  validJson: (column) => `CASE WHEN json_valid(${column}) THEN ${column} END`,
  now: "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
  // A julian day has 86,400,000 milliseconds.
  later (column) {
    const next = `coalesce(julianday(${column}) + 1.0 / 86400000, 0)`
    return `strftime('%Y-%m-%dT%H:%M:%fZ', max(julianday('now'), ${next}))`
  },
  lockRows: () => '',
  locksScanned: false,
  // https://sqlite.org/limits.html#max_variable_number
  maxBound: 32_766,
  given: buildGiven,
  bindsGiven: true,
  joinGiven: 'CROSS JOIN',
  writesGiven: 'subquery',
  pages: 'subquery',
  catalog: {
    types: {
      boolean: 'INTEGER',
      integer: 'INTEGER',
      number: 'REAL',
      text: 'TEXT',
      uuid: 'TEXT',
      date: 'TEXT',
      'date-time': 'TEXT',
      json: 'TEXT'
    },
    keyText: () => 'TEXT',
    keyLength: Infinity,
    identity: 'INTEGER PRIMARY KEY AUTOINCREMENT',
    tableOptions: ' STRICT',
    inlineIndexes: false,
    // The schema precedes the name of the index: https://sqlite.org/lang_createindex.html
    indexOn (name, table) {
      const index = [...table.slice(0, -1), name].map(dialect.quote).join('.')
      return `${index} ON ${table.slice(-1).map(dialect.quote).join()}`
    },
    jsonCheck: (column) => ` CHECK (json_valid(${column}))`,
    toDefault: (value) => typeof value === 'string' ? toLiteral(value) : String(value),
    randomText: 'lower(hex(randomblob(16)))',
    indexText: (column) => column,
    query: buildCatalogQuery,
    settings: {},
    getTypeFamily,
    storeNumeral: (type, numeral) => hasNumericAffinity(type) ? String(Number(numeral)) : numeral,
    foldName: (name) => name.toLowerCase(),
    hiddenColumns: ['rowid', 'oid', '_rowid_'],
    foreignKeys: buildForeignKeysQuery,
    inlineForeignKeys: true,
    checksEachRow: false
  },
  errors: {
    classifyError (error) {
      const code = getPrimaryCode(error)
      const message = code === 1 ? readErrorText(error, 'message') : ''
      if (message.startsWith('no such table: ')) return 'missing-table'
      if (missingColumn.test(message)) return 'mismatch'
      return errorKinds[code ?? 0] ?? 'other'
    },
    isDataException: (error) => parseUnstorable(error) !== undefined,
    reportsForeignKeys: false,
    parseViolation: (error) => parseUnstorable(error) ?? parseConstraint(error)
  }
}

/** Bound one by one, not as JSON: SQLite does not read every number of JSON as JavaScript does. */
function buildGiven ({ name, columns, rows, bind }: GivenRows): string {
  const values = rows.map((row) => `(${row.map(bind).join(', ')})`).join(', ')
  const names = columns.map((column) => column.name).join(', ')
  return `(WITH ${name}(${names}) AS (VALUES ${values}) SELECT * FROM ${name}) AS ${name}`
}

/** A row that is too long, an id that is not an integer, or a value of another type in a STRICT table. */
function parseUnstorable (error: unknown): Violation | undefined {
  const code = getPrimaryCode(error)
  if (code === 18 || code === 20) return { unstorable: { column: undefined } }
  if (code !== 19) return undefined
  // cannot store TEXT value in INTEGER column users.age
  const match = /^cannot store \w+ value in \w+ column .*?\.?([^.]+)$/.exec(readErrorText(error, 'message'))
  return match === null ? undefined : { unstorable: { column: match[1] } }
}

/** An integer primary key has no index. The expressions of an index are read from the text of its CREATE INDEX. */
function buildCatalogQuery (table: readonly string[]): ReturnType<SqlDialect['catalog']['query']> {
  const [name = '', ...schema] = [...table].reverse()
  const within = schema.map((part) => `, ${toLiteral(part)}`).join()
  const all = [...schema, 'sqlite_schema'].map(dialect.quote).join('.')
  const spaced = "replace(replace(replace(sql, char(9), ' '), char(10), ' '), char(13), ' ')"
  const text = `SELECT 'column', NULL, name, type,
      CASE WHEN "notnull" THEN CASE
        WHEN dflt_value IS NULL AND hidden = 0 AND NOT (pk > 0 AND upper(type) = 'INTEGER')
        THEN 'needs value' ELSE 'not null' END
      END, 0
    FROM pragma_table_xinfo(?${within})
    UNION ALL
    SELECT 'unique', 'primary key', name, NULL, NULL, pk FROM pragma_table_xinfo(?${within}) WHERE pk > 0
    UNION ALL
    SELECT CASE WHEN l."unique" THEN 'unique' ELSE 'index' END, l.name, i.name,
      CASE WHEN i.cid = -2 THEN s.terms END,
      CASE WHEN l.partial THEN coalesce(s.predicate, 'unknown') END,
      i.seqno
    FROM pragma_index_list(?${within}) AS l
    JOIN pragma_index_info(l.name${within}) AS i
    LEFT JOIN (
      SELECT name, substr(sql, instr(sql, '(')) AS terms,
        substr(sql, instr(upper(${spaced}), ' WHERE ') + 7) AS predicate
      FROM ${all} WHERE type = 'index' AND tbl_name = ? COLLATE NOCASE
    ) AS s ON s.name = l.name
    UNION ALL
    SELECT 'other', NULL, NULL, NULL, NULL, 0 FROM ${all}
    WHERE name = ? COLLATE NOCASE AND (type = 'view' OR sql LIKE 'CREATE VIRTUAL TABLE%')`
  return { text, values: [name, name, name, name, name] }
}

/** A foreign key without columns refers to the primary key. The other table is in the same database. */
function buildForeignKeysQuery (
  table: readonly string[],
  other?: readonly string[]
): { text: string, values: Value[] } {
  const [name = '', ...schema] = [...table].reverse()
  const within = schema.map((part) => `, ${toLiteral(part)}`).join()
  const text = `SELECT "from", "table", coalesce("to", (
      SELECT i.name FROM pragma_table_info(k."table"${within}) AS i WHERE i.pk = 1
    )), count(*) OVER (PARTITION BY id)
    FROM pragma_foreign_key_list(?${within}) AS k
    ${other === undefined ? '' : 'WHERE "table" = ? COLLATE NOCASE '}ORDER BY id DESC`
  return { text, values: [name, ...other?.slice(-1) ?? []] }
}

/** https://sqlite.org/datatype3.html#determination_of_column_affinity; types such as DATETIME store what they get. */
function getTypeFamily (type: string): TypeFamily | undefined {
  if (/int|real|floa|doub/.test(type)) return 'number'
  return /char|clob|text/.test(type) ? 'text' : undefined
}

/** Whether a column converts texts that look like numbers to numbers. */
function hasNumericAffinity (type: string): boolean {
  return /int/.test(type) || !/char|clob|text|blob|^$|^any$/.test(type)
}

/**
 * Builds a `like` condition. Texts after a star are found with instr(), not with GLOB: GLOB compares letter by letter
 * from each position, so a long pattern and a text that repeats its beginning would block the process for minutes.
 */
function buildLike (text: string, parts: readonly string[], bind: (value: Value) => string): string {
  const [first = '', ...others] = parts
  const last = others.pop()
  if (last === undefined) return `${toBinary(text)} = ${bind(first)}`
  const runs = others.filter((run) => run !== '')
  // An index serves a prefix.
  if (last === '' && runs.length === 0) return `${text} GLOB ${bind(`${first.replace(/[*?[]/g, '[$&]')}*`)}`
  if (first === '' && last === '' && runs.length === 1) return `instr(${text}, ${bind(runs.join())}) > 0`
  // Most rows fail this test, which is cheaper than the steps.
  const [longest = ''] = [first, last, ...runs].sort((a, b) => b.length - a.length)
  const possible = `instr(${text}, ${bind(longest)}) > 0`
  const before = countCharacters(first)
  const after = countCharacters(last)
  // Values are bound in the order in which the statement uses them.
  const steps = [
    `whole(text) AS MATERIALIZED (SELECT ${text})`,
    'rest_0(text) AS MATERIALIZED (' +
      `SELECT substr(text, ${bind(before + 1)}, length(text) - ${bind(before + after)}) FROM whole ` +
      `WHERE length(text) >= ${bind(before + after)} ` +
      `AND substr(text, 1, ${bind(before)}) = ${bind(first)} ` +
      `AND substr(text, length(text) - ${bind(after - 1)}) = ${bind(last)})`
  ]
  for (const [index, run] of runs.entries()) {
    steps.push(
      `rest_${index + 1}(text) AS MATERIALIZED (` +
      `SELECT substr(text, instr(text, ${bind(run)}) + ${bind(countCharacters(run))}) FROM rest_${index} ` +
      `WHERE instr(text, ${bind(run)}) > 0)`
    )
  }
  return `${possible} AND EXISTS (WITH ${steps.join(', ')} SELECT 1 FROM rest_${runs.length})`
}

/** Counts like SQLite: by code point. */
function countCharacters (text: string): number {
  return [...text].length
}

/**
 * lower() of SQLite only folds ASCII letters. A word is found by its longest part without other letters that have two
 * cases.
 */
function getFindablePart (word: string): string {
  // The only capital letter whose lower case is two characters: İ, i̇.
  if (word.includes('\u0307')) return ''
  let longest = ''
  let part = ''
  for (const character of word) {
    const exact = character < '\x80' || character.toLowerCase() === character.toUpperCase()
    part = exact ? part + character : ''
    if (part.length > longest.length) longest = part
  }
  return longest
}

function toLiteral (text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** https://sqlite.org/rescode.html: errors of node:sqlite have the number, those of better-sqlite3 the name. */
const codes: Readonly<Record<string, number>> = {
  ERROR: 1,
  BUSY: 5,
  LOCKED: 6,
  READONLY: 8,
  IOERR: 10,
  FULL: 13,
  TOOBIG: 18,
  CONSTRAINT: 19,
  MISMATCH: 20
}

const errorKinds: Readonly<Record<number, ErrorKind>> = {
  5: 'retry', // another connection has a lock
  6: 'retry',
  8: 'read-only',
  10: 'io-error',
  13: 'full'
}

const missingColumn = /^(?:no such column: |table .* has no column named )/

function getPrimaryCode (error: unknown): number | undefined {
  // node:sqlite has errcode, better-sqlite3 has code.
  const errcode = readErrorNumber(error, 'errcode')
  return errcode === undefined ? codes[readErrorText(error, 'code').split('_')[1] ?? ''] : errcode & 0xff
}

/**
 * UNIQUE constraint failed: users.tenant, users.email. For a foreign key with RESTRICT, the extended code is that of a
 * trigger, so the message is parsed.
 */
function parseConstraint (error: unknown): Violation | undefined {
  if (getPrimaryCode(error) !== 19) return undefined
  const message = readErrorText(error, 'message')
  const notNull = /^NOT NULL constraint failed: .*?\.?([^.]+)$/.exec(message)?.[1]
  if (notNull !== undefined) return { notNull }
  if (message.startsWith('FOREIGN KEY constraint failed')) {
    return { foreignKey: { cause: undefined, table: undefined, columns: [] } }
  }
  const match = /^(?:UNIQUE constraint failed: (.+)|CHECK constraint failed.*)$/.exec(message)
  if (match === null) return undefined
  if (match[1] === undefined) return 'conflict'
  return { columns: match[1].split(', ').map((column) => column.slice(column.indexOf('.') + 1)) }
}
