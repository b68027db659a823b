import type { TypeFamily } from '../sql/catalog.ts'
import type {
  ErrorKind,
  GivenRows,
  JsonDialect,
  KeyColumn,
  RowLock,
  SqlDialect,
  Value,
  Violation
} from '../sql/dialect.ts'
import { readErrorText } from '../sql/driver-error.ts'
import type { Kind } from '../sql/kind.ts'
import { toScale } from '../sql/numerals.ts'
import { joinTests } from '../sql/parameters.ts'
import { networkErrors } from '../sql/storage-error.ts'
import { isOutdated } from './outdated-types.ts'

const buildPath = (names: readonly string[]) => `ARRAY[${names.map(toLiteral).join(', ')}]::text[]`
const extractText: JsonDialect['value']['string'] = (column, names) => `(${column}::json #>> ${buildPath(names)})`

function adviseSetting (name: string, value: string): string {
  return `Set it for the pool, new pg.Pool({ options: '-c ${name}=${value}' }), ` +
    `or for its user, ALTER ROLE ... SET ${name} = '${value}'.`
}

/** What is specific to PostgreSQL. */
export const dialect: SqlDialect = {
  name: 'postgres',
  quote: (name) => `"${name.replaceAll('"', '""')}"`,
  placeholder: (position) => `$${position}`,
  // A lock is written to the log, and the end of its transaction waits for the standbys.
  confirmed: ' FOR KEY SHARE',
  returning: true,
  emptyInsert: 'DEFAULT VALUES',
  unset: 'DEFAULT',
  select: {},
  castToText: (column) => `${column}::text`,
  typedNull: (column) => `CASE WHEN false THEN ${column} END`,
  isSame: (a, b) => `${a} IS NOT DISTINCT FROM ${b}`,
  toDateTime: (text) => text,
  // In an existing table, citext and nondeterministic collations find candidates with the index of the column.
  equatable (column, kind, managed) {
    return managed || kind !== 'text' ? [column] : [column, dialect.ordered(column, kind, managed)]
  },
  isEqualKey: buildEqualKey,
  // CASE keeps the planner from expecting 200 times less rows than without the test. Values of character(n) are padded,
  // so they are compared as the column does.
  recheck: (test, column) => `CASE WHEN pg_typeof(${column}) = 'character'::regtype THEN true ELSE ${test} END`,
  ordered (column, kind, managed) {
    if (managed || (kind !== 'text' && kind !== 'uuid')) return column
    return `${column}::text COLLATE "C"`
  },
  text (column, kind, managed) {
    if (kind === 'text' && !managed) return dialect.ordered(column, kind, managed)
    if (kind !== 'date-time') return `${column}::text`
    const inUtc = `${column}::timestamptz AT TIME ZONE 'UTC'`
    // A time without a zone is in UTC, whatever the time zone of the session is.
    const utc = managed
      ? inUtc
      : `CASE WHEN pg_typeof(${column}) IN ('timestamp'::regtype, 'date'::regtype) ` +
        `THEN ${column}::timestamp ELSE ${inUtc} END`
    return `to_char(${utc}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
  },
  // The years BC, those after 9999, and infinity.
  readableDate (column, kind, managed) {
    const text = dialect.text(column, kind, managed)
    const isReadable = `${column} BETWEEN '0001-01-01T00:00:00Z' AND '9999-12-31T23:59:59.999Z'`
    return `CASE WHEN ${isReadable} THEN ${kind === 'date' ? `SUBSTR(${text}, 1, 10)` : text} END`
  },
  integerText: (expression) => `${expression}::text`,
  hasNonFinite: true,
  toDouble: (expression) => `${expression}::double precision`,
  castFraction: (placeholder) => `${placeholder}::numeric`,
  like (text, runs, bind) {
    const pattern = runs.map((run) => run.replace(/[%_|]/g, '|$&')).join('%')
    return `${text} LIKE ${bind(pattern)} ESCAPE '|'`
  },
  lowerAscii: (text) => `lower(${text} COLLATE "C")`,
  search: {
    // Folds the letters of every script, even if the locale of the database is C.
    lowerCase: (text) => `lower(${text} COLLATE "und-x-icu")`,
    contains: (text, placeholder) => `strpos(${text}, ${placeholder}) > 0`,
    // OFFSET 0 keeps the planner from computing each text again for every word.
    once (texts, condition) {
      const names = texts.map((_, index) => `text_${index}`)
      const columns = texts.map((text, index) => `${text} AS ${names[index]}`)
      return `EXISTS (SELECT 1 FROM (SELECT ${columns.join(', ')} OFFSET 0) AS texts WHERE ${condition(names)})`
    },
    findable: (word) => word
  },
  // Null is the greatest value in PostgreSQL, too.
  orderBy: (expression, descending) => `${expression}${descending ? ' DESC' : ''}`,
  sortLength: Infinity,
  rowValues: true,
  isExistsRepeated: false,
  limit: (limit) => limit,
  json: {
    type: (column, names) => `NULLIF(json_typeof(${column}::json #> ${buildPath(names)}), 'null')`,
    types: { string: ['string'], number: ['number'], boolean: ['boolean'] },
    value: {
      string: (column, names) => `${extractText(column, names)} COLLATE "C"`,
      number: (column, names) => `${extractText(column, names)}::double precision`,
      boolean: (column, names) => `${extractText(column, names)}::boolean`
    },
    // CASE keeps both casts from failing on values of another type.
    hasItem ({ column, path }, { type, bindAll }) {
      const array = `${column}::json #> ${buildPath(path)}`
      const cast = dialect.json.value[type]('item.value', [])
      const value = `CASE WHEN json_typeof(item.value) = '${type}' THEN ${cast} END`
      const found = `SELECT 1 FROM json_array_elements(${array}) AS item (value) WHERE ${value} IN (${bindAll()})`
      return `CASE WHEN json_typeof(${array}) = 'array' THEN EXISTS (${found}) ELSE false END`
    }
  },
  now: 'clock_timestamp()',
  clock: 'floor(extract(epoch FROM clock_timestamp()) * 1000)',
  later: (column) => `GREATEST(clock_timestamp(), ${column} + interval '1 microsecond')`,
  // Rows of an outer join cannot be locked.
  lockRows: (lock, alias) => ` FOR ${rowLocks[lock]}${alias === undefined ? '' : ` OF ${alias}`}`,
  locksScanned: false,
  maxBound: 65_535,
  given: buildGiven,
  bindsGiven: false,
  joinGiven: 'CROSS JOIN',
  writesGiven: 'using',
  // A nested loop returns the rows in the order of the values, and those of each value in its order.
  pages: 'lateral',
  catalog: {
    types: {
      boolean: 'boolean',
      integer: 'bigint',
      number: 'double precision',
      text: 'text COLLATE "C"',
      uuid: 'uuid',
      date: 'date',
      'date-time': 'timestamptz(3)',
      // Not jsonb, which changes the order of properties.
      json: 'json'
    },
    keyText: () => 'text COLLATE "C"',
    keyLength: Infinity,
    identity: 'bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY',
    tableOptions: '',
    inlineIndexes: false,
    indexOn: (name, table) => `${dialect.quote(name)} ON ${table.map(dialect.quote).join('.')}`,
    jsonCheck: () => '',
    toDefault: (value) => typeof value === 'string' ? toLiteral(value) : `'${value}'`,
    randomText: 'md5(random()::text || clock_timestamp()::text)',
    // A row of a B-tree has at most 2704 bytes, four for each character. Longer values would be refused.
    indexText: (column, _type, { maxLength }) => maxLength <= 600 ? column : undefined,
    dropNotNull: (table, column) => `ALTER TABLE ${table} ALTER COLUMN ${column} DROP NOT NULL`,
    query: (table) => ({ text: catalog, values: [table.map(dialect.quote).join('.')] }),
    settings: {
      DateStyle: {
        supports: (value) => value.startsWith('ISO'),
        effect: 'so dates and times cannot be read',
        advice: adviseSetting('DateStyle', 'ISO')
      },
      extra_float_digits: {
        supports: (value) => Number(value) > 0,
        effect: 'so numbers would be rounded',
        advice: adviseSetting('extra_float_digits', '1')
      }
    },
    getTypeFamily: (type) => type.startsWith('_') ? 'array' : typeFamilies[type.replace(/\(.*/, '')],
    storeNumeral (type, numeral) {
      const [, precision, scale] = /^numeric\((\d+),(\d+)\)$/.exec(type) ?? []
      if (precision !== undefined) return toScale(numeral, Number(precision), Number(scale))
      // Without a scale, numeric keeps the digits that were sent.
      return type !== 'numeric' && typeFamilies[type] === 'number' ? String(Number(numeral)) : numeral
    },
    foldName: (name) => name,
    hiddenColumns: [],
    foreignKeys (table, other) {
      const values = [table, ...other === undefined ? [] : [other]].map((path) => path.map(dialect.quote).join('.'))
      return { text: other === undefined ? foreignKeys : `${foreignKeys} AND c.confrelid = to_regclass($2)`, values }
    },
    inlineForeignKeys: false,
    checksEachRow: false
  },
  errors: {
    classifyError (error) {
      const { code, message } = getErrorDetail(error)
      if (isOutdated(error)) return 'retry'
      if (poolTimeout.test(message)) return 'exhausted'
      const kind = errorKinds[code] ?? errorKinds[code.slice(0, 2)]
      return kind ?? (lostConnection.test(message) ? 'unreachable' : 'other')
    },
    isDataException: (error) => !isOutdated(error) && isDataException(getErrorDetail(error).code),
    reportsForeignKeys: true,
    parseViolation (error) {
      if (isOutdated(error)) return undefined
      const { code, constraint, where, column } = getErrorDetail(error)
      if (code === '23502') return { notNull: column }
      if (code === '23503' || code === '23001') return parseForeignKey(error)
      if (code === '23505') return constraint === '' ? parseDuplicateKey(error) : { constraint, buildColumnsQuery }
      // PostgreSQL reports the parameter of an invalid value: "unnamed portal parameter $2 = '...'"
      const parameter = Number(/\bportal parameter \$(\d+)/.exec(where)?.[1])
      if (isDataException(code)) return { unstorable: parameter > 0 ? { parameter } : { column: undefined } }
      // An index entry can take a third of a page of 8 kB.
      if (code === '54000') return { unstorable: { index: { constraint, buildColumnsQuery } } }
      return conflicts.has(code) ? 'conflict' : undefined
    }
  }
}

/** As foreign keys do: only KEY SHARE and NO KEY UPDATE do not wait for each other. */
const rowLocks: Readonly<Record<RowLock, string>> = {
  change: 'NO KEY UPDATE',
  existence: 'KEY SHARE',
  removal: 'UPDATE'
}

/** The types of arrays: the columns of a table created for a collection have the same, with a collation. */
const arrayTypes: Readonly<Record<Kind, string>> = { ...dialect.catalog.types, text: 'text' }

/** Adds rows without values, up to a power of two. */
function fillRows (rows: GivenRows['rows'], width: number): GivenRows['rows'] {
  const filled = [...rows]
  while (filled.length & (filled.length - 1)) filled.push(new Array<null>(width).fill(null))
  return filled
}

/**
 * Each column is one array, so that the text does not depend on the number of rows. Values that are not known to have
 * the type of their column get it from an array that begins with the column: then the rows are filled up to a power of
 * two, so that lists of any length need few statements, and the first ones have no values.
 */
function buildGiven ({ name, columns, rows, bind }: GivenRows): string {
  const isTyped = columns.every(({ like }) => like === undefined)
  const filled = isTyped ? rows : fillRows(rows, columns.length)
  const arrays = columns.map(({ kind, like }, index) => {
    const values = filled.map((row) => row[index]!)
    if (like !== undefined) return `ARRAY[(SELECT ${like[0]} FROM ${like[1]} LIMIT 0), ${values.map(bind).join(', ')}]`
    // Bound as text: some drivers convert parameters of array types themselves.
    return `${bind(toArray(isTyped ? values : [null, ...values]))}::text::${arrayTypes[kind]}[]`
  })
  return `unnest(${arrays.join(', ')}) AS ${name} (${columns.map((column) => column.name).join(', ')})`
}

/** https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO */
function toArray (values: readonly Value[]): string {
  const elements = values.map((value) => value === null ? 'NULL' : `"${String(value).replace(/["\\]/g, '\\$&')}"`)
  return `{${elements.join(',')}}`
}

/** A UUID in its canonical form, which is the only text that is equal to it. */
const canonicalUuid = "'^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$'"

/** Columns of different collations have none in common, so that of the found column is stated. */
function buildEqualKey (found: KeyColumn, given: KeyColumn): string {
  const plain = `${found.sql} = ${given.sql}`
  if (found.kind === 'uuid' && given.kind === 'text') {
    const text = `${given.sql}::text`
    if (!found.managed) return `${found.sql}::text COLLATE "C" = ${text} COLLATE "C"`
    return `${found.sql} = CASE WHEN ${text} ~ ${canonicalUuid} THEN ${text}::uuid END`
  }
  if (found.kind !== 'text') return plain
  if (found.managed && given.managed && given.kind === 'text') return plain
  if (found.managed || given.kind === 'uuid') {
    return `${found.sql} = ${given.sql}::text COLLATE ${found.managed ? '"C"' : '"default"'}`
  }
  const exact = `${found.sql}::text COLLATE "C" = ${given.sql}::text COLLATE "C"`
  const candidates = given.managed ? `${plain} COLLATE "default"` : plain
  return joinTests(dialect, [found.sql, ''], (_, index) => index === 0 ? candidates : exact)
}

/** Class 22: out of range, too long, not of the type. */
function isDataException (code: string): boolean {
  return code.length === 5 && code.startsWith('22')
}

/**
 * Citus passes on the error of another server, with its detail but without the name of the constraint:
 * Key (team, "shirtNumber")=(a, 1) already exists.
 */
function parseDuplicateKey (error: unknown): Violation {
  return { columns: parseKeyColumns(getErrorDetail(error).detail) }
}

function parseKeyColumns (detail: string): string[] {
  const key = /\((.+?)\)=\(/.exec(detail)?.[1]
  const names = key?.match(/"(?:[^"]|"")+"|[^, ]+/g) ?? []
  return names.map((name) => name.replace(/^"(.*)"$/, '$1').replaceAll('""', '"'))
}

/** Checks, exclusions. */
const conflicts: ReadonlySet<string> = new Set(['23514', '23P01'])

/**
 * Key (author)=(5) is not present in table "users". Key (id)=(5) is still referenced from table "articles". Messages in
 * another language have the columns in the same form.
 */
function parseForeignKey (error: unknown): Violation {
  const { code, table, detail } = getErrorDetail(error)
  const isReferenced = code === '23001' || / referenced from table /.test(detail)
  const isMissing = / is not present in table /.test(detail)
  return {
    foreignKey: {
      cause: isReferenced ? 'referenced' : isMissing ? 'missing' : undefined,
      table: table === '' ? undefined : table,
      columns: parseKeyColumns(detail)
    }
  }
}

function buildColumnsQuery (table: readonly string[]): string {
  const name = toLiteral(table.map(dialect.quote).join('.'))
  return `SELECT a.attname FROM pg_index x
  JOIN pg_class i ON i.oid = x.indexrelid
  JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = ANY (x.indkey)
  WHERE i.relname = $1 AND x.indrelid = to_regclass(${name})
  ORDER BY array_position(x.indkey::int2[], a.attnum)`
}

/** Invalid indexes (`indisvalid`) and columns that an index only includes (`indnkeyatts`) do not ensure uniqueness. */
const catalog = `SELECT 'column',
    CASE WHEN 'citext' IN (t.typname, b.typname) THEN 'citext' ELSE (
      SELECT c.collname FROM pg_collation c WHERE c.oid = a.attcollation AND NOT c.collisdeterministic
    ) END::text,
    a.attname::text,
    CASE WHEN 'numeric' IN (t.typname, b.typname)
      THEN format_type('numeric'::regtype, CASE t.typtype WHEN 'd' THEN t.typtypmod ELSE a.atttypmod END)
      WHEN t.typtype = 'e' THEN 'text' WHEN t.typtype = 'd' THEN b.typname ELSE t.typname END::text,
    CASE WHEN a.attnotnull AND a.attnum > 0 THEN
      CASE WHEN a.atthasdef OR a.attidentity <> '' OR t.typdefault IS NOT NULL THEN 'not null' ELSE 'needs value' END
    END, 0
  FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = t.typbasetype
  WHERE a.attrelid = to_regclass($1) AND NOT a.attisdropped
  UNION ALL
  SELECT CASE WHEN x.indisunique THEN 'unique' ELSE 'index' END, i.relname::text, a.attname::text,
    CASE WHEN k.attnum = 0 THEN pg_get_expr(x.indexprs, x.indrelid) END, pg_get_expr(x.indpred, x.indrelid), k.position
  FROM pg_index x
  JOIN pg_class i ON i.oid = x.indexrelid
  CROSS JOIN LATERAL unnest(x.indkey::int2[]) WITH ORDINALITY AS k (attnum, position)
  LEFT JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = k.attnum AND k.attnum <> 0
  WHERE x.indrelid = to_regclass($1) AND x.indisvalid AND k.position <= x.indnkeyatts
  UNION ALL
  SELECT 'trigger', NULL, NULL, NULL, NULL, 0 FROM pg_trigger
  WHERE tgrelid = to_regclass($1) AND NOT tgisinternal AND tgtype & 7 = 7
  UNION ALL
  SELECT 'other', NULL, NULL, NULL, NULL, 0 FROM pg_class WHERE oid = to_regclass($1) AND relkind NOT IN ('r', 'p')
  UNION ALL
  SELECT 'setting', name, NULL, current_setting(name), NULL, 0
  FROM unnest(ARRAY['DateStyle', 'extra_float_digits']) AS name`

const foreignKeys = `SELECT a.attname::text, t.relname::text, b.attname::text, cardinality(c.conkey)
  FROM pg_constraint c
  CROSS JOIN LATERAL unnest(c.conkey, c.confkey) AS k (own, other)
  JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.own
  JOIN pg_class t ON t.oid = c.confrelid
  JOIN pg_attribute b ON b.attrelid = c.confrelid AND b.attnum = k.other
  WHERE c.contype = 'f' AND c.conrelid = to_regclass($1)`

/** By the names of pg_type. */
const typeFamilies: Readonly<Record<string, TypeFamily | undefined>> = {
  bool: 'boolean',
  int2: 'number',
  int4: 'number',
  int8: 'number',
  numeric: 'number',
  float4: 'number',
  float8: 'number',
  text: 'text',
  varchar: 'text',
  bpchar: 'text',
  citext: 'text',
  uuid: 'uuid',
  date: 'date',
  timestamp: 'timestamp',
  timestamptz: 'timestamp',
  json: 'json',
  jsonb: 'json',
  bytea: 'binary'
}

function toLiteral (text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** By code or class: https://www.postgresql.org/docs/current/errcodes-appendix.html */
const errorKinds: Readonly<Record<string, ErrorKind>> = {
  40001: 'retry', // serialization failure
  '40P01': 'retry', // deadlock
  26000: 'retry', // a prepared statement is missing, behind a pooler that changes the connection
  '42P05': 'retry', // or it exists already
  '42P01': 'missing-table',
  42703: 'mismatch', // a column
  '08': 'unreachable', // connection exceptions
  53: 'unreachable', // out of memory
  53100: 'full', // disk
  53300: 'exhausted', // too many connections
  57: 'unreachable', // shut down, starting up, or cancelled by a timeout
  '55P03': 'unreachable', // lock timeout
  25006: 'read-only', // as a standby until it is promoted
  ...networkErrors
}

/** pg reports that no connection of the pool became free in time. */
const poolTimeout = /^timeout exceeded when trying to connect$/

/** Errors of pg without a code: lost connections, and timeouts. */
const lostConnection = new RegExp(`^(?:${[
  'Connection terminated',
  'timeout (?:exceeded|expired)',
  'Query read timeout',
  'Client has encountered a connection error',
  'Client was closed'
].join('|')})`, 'i')

/** What pg adds to an error; empty strings if it is not one of pg. */
function getErrorDetail (error: unknown) {
  return {
    code: readErrorText(error, 'code'),
    constraint: readErrorText(error, 'constraint'),
    detail: readErrorText(error, 'detail'),
    where: readErrorText(error, 'where'),
    column: readErrorText(error, 'column'),
    table: readErrorText(error, 'table'),
    message: readErrorText(error, 'message')
  }
}
