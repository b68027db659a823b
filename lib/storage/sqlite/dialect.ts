import type { Dialect, JsonFacts, Value, Violation } from '../sql/dialect.ts'

const path = (names: readonly string[]) => literal(`$${names.map((name) => `."${name}"`).join('')}`)
const extracted: JsonFacts['value'][keyof JsonFacts['value']] = (column, names) => `json_extract(${column}, ${path(names)})`

/** What SQLite does in its own way. */
export const dialect: Dialect = {
  name: 'sqlite',
  quote: (name) => `"${name.replaceAll('"', '""')}"`,
  placeholder: () => '?',

  types: { boolean: 'INTEGER', integer: 'INTEGER', number: 'REAL', text: 'TEXT', uuid: 'TEXT', date: 'TEXT', 'date-time': 'TEXT', json: 'TEXT' },
  keyText: () => 'TEXT',
  keyLength: Infinity,
  identity: 'INTEGER PRIMARY KEY AUTOINCREMENT',
  tableOptions: ' STRICT',
  inlineIndexes: false,
  // The schema stands ahead of the index: https://sqlite.org/lang_createindex.html
  indexOn: (name, table) => `${[...table.slice(0, -1), name].map(dialect.quote).join('.')} ON ${table.slice(-1).map(dialect.quote).join()}`,
  jsonCheck: (column) => ` CHECK (json_valid(${column}))`,

  catalog,
  foldName: (name) => name.toLowerCase(),
  hiddenColumns: ['rowid', 'oid', '_rowid_'],

  returning: true,
  emptyInsert: 'DEFAULT VALUES',
  unset: 'NULL',

  select: {},
  textual: (column) => column,
  same: (a, b) => `${a} IS ${b}`,
  instant: (text) => text,

  equatable: (column, kind, own) => [dialect.ordered(column, kind, own)],
  ordered (column, kind, own) {
    if (own) return column
    // Tables that exist have times in any of SQLite's forms, and text in any collation.
    if (kind === 'date-time') return `strftime('%Y-%m-%dT%H:%M:%fZ', ${column})`
    if (kind === 'date') return `date(${column})`
    return kind === 'text' || kind === 'uuid' ? `${column} COLLATE BINARY` : column
  },
  text: (column, kind, own) => dialect.ordered(column, kind, own),
  fraction: (placeholder) => placeholder,
  like,
  search: {
    lowerCase: (text) => `lower(${text})`,
    contains: (text, placeholder) => `instr(${text}, ${placeholder}) > 0`,
    findable
  },
  order: (expression, descending, nullable) => `${expression}${descending ? ' DESC' : ''}${nullable ? ` NULLS ${descending ? 'FIRST' : 'LAST'}` : ''}`,
  sortLength: Infinity,
  rowValues: true,
  limit: (limit) => limit,
  json: {
    type: (column, names) => `NULLIF(json_type(${column}, ${path(names)}), 'null')`,
    types: { string: ['text'], number: ['integer', 'real'], boolean: ['true', 'false'] },
    // An integer that no double holds is compared as the one that JavaScript reads.
    value: { string: extracted, number: (column, names) => `CAST(${extracted(column, names)} AS REAL)`, boolean: extracted }
  },

  validJson: (column) => `CASE WHEN json_valid(${column}) THEN ${column} END`,

  now: "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
  // A day in SQLite has 86,400,000 milliseconds.
  later: (column) => `strftime('%Y-%m-%dT%H:%M:%fZ', max(julianday('now'), coalesce(julianday(${column}) + 1.0 / 86400000, 0)))`,

  beginExclusive: () => ['BEGIN IMMEDIATE'],

  fault (error) {
    const code = primaryCode(error)
    if (code === 5 || code === 6) return 'again'
    return code === 13 ? 'passing' : 'other'
  },
  isDataException: (error) => unstorable(error) !== undefined,
  violation: (error) => unstorable(error) ?? violation(error)
}

/** Too long in all, an id that is no integer, or, in a STRICT table: `cannot store TEXT value in INTEGER column users.age`. */
function unstorable (error: unknown): Violation | undefined {
  const code = primaryCode(error)
  if (code === 18 || code === 20) return { unstorable: { column: undefined } }
  const strict = code === 19 ? /^cannot store \w+ value in \w+ column .*?\.?([^.]+)$/.exec((error as Error).message) : null
  return strict === null ? undefined : { unstorable: { column: strict[1] } }
}

/** An integer primary key has no index of its own. What follows the first bracket of an index tells what it is about. */
function catalog (table: readonly string[]): ReturnType<Dialect['catalog']> {
  const [name = '', ...schema] = [...table].reverse()
  const within = schema.map((part) => `, ${literal(part)}`).join()
  const all = [...schema, 'sqlite_schema'].map(dialect.quote).join('.')
  const spaced = "replace(replace(replace(sql, char(9), ' '), char(10), ' '), char(13), ' ')"
  const text = `SELECT 'column', NULL, name, NULL, NULL FROM pragma_table_xinfo(?${within})
    UNION ALL
    SELECT 'unique', 'primary key', name, NULL, NULL FROM pragma_table_xinfo(?${within}) WHERE pk > 0
    UNION ALL
    SELECT 'unique', l.name, i.name, CASE WHEN i.cid = -2 THEN s.terms END, CASE WHEN l.partial THEN coalesce(s.predicate, 'unknown') END
    FROM pragma_index_list(?${within}) AS l
    JOIN pragma_index_info(l.name${within}) AS i
    LEFT JOIN (
      SELECT name, substr(sql, instr(sql, '(')) AS terms, substr(sql, instr(upper(${spaced}), ' WHERE ') + 7) AS predicate
      FROM ${all} WHERE type = 'index' AND tbl_name = ? COLLATE NOCASE
    ) AS s ON s.name = l.name
    WHERE l."unique"
    UNION ALL
    SELECT 'other', NULL, NULL, NULL, NULL FROM ${all}
    WHERE name = ? COLLATE NOCASE AND (type = 'view' OR sql LIKE 'CREATE VIRTUAL TABLE%')`
  return { text, values: [name, name, name, name, name] }
}

/**
 * A run behind a star is found with instr(), and not by GLOB: for each place where the run could begin, GLOB compares
 * it letter by letter, so that a long run and a text that repeats its beginning would block the process for minutes.
 */
function like (text: string, [first = '', ...others]: readonly string[], bind: (value: Value) => string): string {
  const last = others.pop()
  if (last === undefined) return `${text} = ${bind(first)}`
  const runs = others.filter((run) => run !== '')
  // An index serves a prefix.
  if (last === '' && runs.length === 0) return `${text} GLOB ${bind(`${first.replace(/[*?[]/g, '[$&]')}*`)}`
  if (first === '' && last === '' && runs.length === 1) return `instr(${text}, ${bind(runs.join())}) > 0`
  // Most rows fail here, which is cheaper than to begin with the steps.
  const [longest = ''] = [first, last, ...runs].sort((a, b) => b.length - a.length)
  const possible = `instr(${text}, ${bind(longest)}) > 0`
  const [before, after] = [characters(first), characters(last)]
  const steps = [`whole(text) AS MATERIALIZED (SELECT ${text})`, `rest_0(text) AS MATERIALIZED (SELECT substr(text, ${bind(before + 1)}, length(text) - ${bind(before + after)}) FROM whole ` +
    `WHERE length(text) >= ${bind(before + after)} AND substr(text, 1, ${bind(before)}) = ${bind(first)} AND substr(text, length(text) - ${bind(after - 1)}) = ${bind(last)})`]
  for (const [index, run] of runs.entries()) {
    steps.push(`rest_${index + 1}(text) AS MATERIALIZED (SELECT substr(text, instr(text, ${bind(run)}) + ${bind(characters(run))}) FROM rest_${index} WHERE instr(text, ${bind(run)}) > 0)`)
  }
  return `${possible} AND EXISTS (WITH ${steps.join(', ')} SELECT 1 FROM rest_${runs.length})`
}

/** As SQLite counts them. */
function characters (text: string): number {
  return [...text].length
}

/** SQLite's lower() knows the letters of ASCII alone: a word is found by its longest part without any other letters that have two cases. */
function findable (word: string): string {
  // The only capital letter whose small one is two characters: İ, i̇.
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

function literal (text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** https://sqlite.org/rescode.html: the number in node:sqlite's errors, the name in better-sqlite3's. */
const codes: Readonly<Record<string, number>> = { BUSY: 5, LOCKED: 6, READONLY: 8, IOERR: 10, FULL: 13, TOOBIG: 18, CONSTRAINT: 19, MISMATCH: 20 }

function primaryCode (error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined
  // Both drivers add to Error what the types of the language do not know.
  const { errcode, code = '' } = error as { errcode?: number, code?: string }
  return errcode === undefined ? codes[code.split('_')[1] ?? ''] : errcode & 0xff
}

/** `UNIQUE constraint failed: users.tenant, users.email`; where a foreign key restricts, the code is that of a trigger, and only the message tells. */
function violation (error: unknown): Violation | undefined {
  if (!(error instanceof Error) || primaryCode(error) !== 19) return undefined
  const match = /^(?:UNIQUE constraint failed: (.+)|(?:FOREIGN KEY|CHECK) constraint failed.*)$/.exec(error.message)
  if (match === null) return undefined
  return match[1] === undefined ? 'conflict' : { columns: match[1].split(', ').map((column) => column.slice(column.indexOf('.') + 1)) }
}
