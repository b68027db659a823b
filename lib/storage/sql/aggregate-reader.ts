import { Aggregation, InexactNumber, isInteger, partLengths, toExactSum } from '../aggregation.ts'
import type { AggregateQuery, Aggregates, Context, DatePart, Figure, Query, Scalar } from '../contract.ts'
import { createWordMatcher } from '../search-words.ts'
import { ConditionBuilder, isExactSearch } from './condition-builder.ts'
import type { Row, SqlDialect } from './dialect.ts'
import { numericKinds } from './kind.ts'
import type { Layout } from './layout.ts'
import { buildConditions } from './list-source.ts'
import { getOperand } from './operand.ts'
import { Parameters } from './parameters.ts'
import type { Session, Statement } from './session.ts'

/** A value of the rows that match, which a subquery selects. */
interface Source {
  /** Equal and ordered as the contract requires. */
  readonly sql: string
  readonly isExact: boolean
  /** Whether it can be a long text. */
  readonly isLong: boolean
  readonly read: (value: unknown) => Scalar | null
}

/** A figure: what groups are ordered by, and the columns that it is read from. */
interface FigureColumns {
  readonly ordered: string
  readonly columns: readonly string[]
  readonly read: (values: readonly unknown[]) => Scalar | null
}

/** Computes figures over the rows that match. The database groups them, unless it cannot test all of the search. */
export async function readAggregates (
  layout: Layout,
  session: Session,
  query: AggregateQuery,
  context: Context
): Promise<Aggregates> {
  const { dialect } = layout
  const { by, figures, order, limit, search, maxTextLength: maxLength } = query
  const parameters = new Parameters(dialect)
  const sources = [...by, ...figures].map((part) => 'property' in part ? createSource(layout, part) : undefined)
  const names = sources.map((_, index) => `value_${index}`)
  const values = sources.map((source, index) => `${source?.sql ?? 'NULL'} AS ${names[index]}`)
  if (search !== undefined && !isExactSearch(dialect, search)) {
    return aggregateChecked(layout, session, { query, search, context, parameters, sources, values })
  }
  const groups = by.map((_, index) => createGroup(dialect, query, { name: names[index]!, source: sources[index]! }))
  const computed = figures.map((figure, index) => {
    const at = by.length + index
    return createFigure(dialect, figure, { name: names[at]!, source: sources[at], maxLength })
  })
  const matching = buildMatching(layout, values, { query, context, parameters })
  const selected = groups.map((group, index) => cut(group.value, sources[index]!, maxLength))
  const ordered = [...groups.map((group) => group.value), ...computed.map((figure) => figure.ordered)]
  const orderBy = order.map(({ at, descending }) => dialect.orderBy(ordered[at]!, descending, true))
  const text = `SELECT ${[...selected, ...computed.flatMap(({ columns }) => columns)].join(', ')} ` +
    `FROM (${matching}) AS matching` +
    (groups.length === 0 ? '' : ` GROUP BY ${groups.map(({ key }) => key).join(', ')} ORDER BY ${orderBy.join(', ')}`) +
    ` LIMIT ${parameters.bind(dialect.limit(limit + 1))}`
  const rows = await readRows(layout, session, { text, values: parameters.values, context }, query)
  return {
    groups: rows.slice(0, limit).map((row) => ({
      by: groups.map((_, index) => readValue(sources[index]!, row[index])),
      figures: readFigures(computed, row.slice(by.length))
    })),
    more: rows.length > limit
  }
}

function createSource (
  layout: Layout,
  { property, part }: { readonly property: string, readonly part?: DatePart }
): Source {
  const { dialect, managed, byProperty } = layout
  const { kind, codec, text: plainText, ordered, presence } = getOperand(layout, property, undefined)
  const isDate = kind === 'date' || kind === 'date-time'
  // Within JSON, dates are plain text.
  const text = isDate ? dialect.readableDate(presence, kind, managed) : plainText
  const isExact = isInteger(layout.shape.schema, property)
  if (text === undefined) {
    // A table of createTable() has no other numbers in a column of integers, and JSON has none.
    const isNumber = kind === 'number' || (kind === 'integer' && !managed)
    return {
      sql: isNumber && dialect.hasNonFinite && byProperty.has(property) ? selectFinite(ordered) : ordered,
      isExact,
      isLong: false,
      read (value) {
        const number = Math.abs(Number(value))
        if (number === Infinity || (isExact && number > Number.MAX_SAFE_INTEGER)) throw new InexactNumber(property)
        return codec.read(value) as Scalar
      }
    }
  }
  return {
    sql: part === undefined ? text : `SUBSTR(${text}, 1, ${partLengths[part]})`,
    isExact,
    isLong: part === undefined && kind === 'text',
    read: (value) => part === undefined && kind !== 'uuid' ? codec.read(value) as Scalar : String(value)
  }
}

/** Selects NULL instead of NaN and infinity. NaN is greater than every number, and text on SQLite is as well. */
function selectFinite (expression: string): string {
  return `CASE WHEN ${expression} BETWEEN ${-Number.MAX_VALUE} AND ${Number.MAX_VALUE} THEN ${expression} END`
}

function readValue ({ read }: Source, value: unknown): Scalar | null {
  return value === null ? null : read(value)
}

/** Selects as much of a text as is needed to know whether it is too long. */
function cut (expression: string, { isLong }: Source, maxLength: number | undefined): string {
  return isLong && maxLength !== undefined ? `SUBSTR(${expression}, 1, ${maxLength + 1})` : expression
}

/** What rows are grouped by, and the expression that has the value of a group. */
function createGroup (
  { groupText }: SqlDialect,
  { figures }: AggregateQuery,
  { name, source: { isLong } }: { readonly name: string, readonly source: Source }
): { readonly key: string, readonly value: string } {
  // To count different values, MySQL and MariaDB sort the rows by their groups.
  const isSorted = figures.some(({ figure }) => figure === 'distinct')
  if (groupText === undefined || !isLong || !isSorted) return { key: name, value: name }
  return { key: groupText(name), value: `MIN(${name})` }
}

interface FigureSource {
  readonly name: string
  readonly source: Source | undefined
  /** Of texts. */
  readonly maxLength: number | undefined
}

function createFigure (
  dialect: SqlDialect,
  figure: Figure,
  { name, source, maxLength }: FigureSource
): FigureColumns {
  const { integerText, toDouble } = dialect
  const property = 'property' in figure ? figure.property : ''
  const readSum = (value: unknown): number | null => {
    if (value === null) return null
    return source?.isExact === true ? readExactSum(value, property) : readDecimalSum(value, property)
  }
  const sum = `SUM(${name})`
  const selectedSum = source?.isExact === true ? integerText(sum) : sum
  switch (figure.figure) {
    case 'count': return toCount('COUNT(*)')
    case 'distinct': return toCount(`COUNT(DISTINCT ${name})`)
    case 'min':
    case 'max': {
      const extreme = `${figure.figure.toUpperCase()}(${name})`
      return {
        ordered: extreme,
        columns: [cut(extreme, source!, maxLength)],
        read: ([value]) => readValue(source!, value)
      }
    }
    case 'sum': return { ordered: sum, columns: [selectedSum], read: ([value]) => readSum(value) }
    case 'avg': return {
      ordered: `${toDouble(sum)} / NULLIF(COUNT(${name}), 0)`,
      // Divided here: databases round averages differently.
      columns: [selectedSum, `COUNT(${name})`],
      read ([value, count]) {
        const total = readSum(value)
        return total === null ? null : total / Number(count)
      }
    }
  }
}

function toCount (sql: string): FigureColumns {
  return { ordered: sql, columns: [sql], read: ([value]) => Number(value) }
}

function readExactSum (value: unknown, property: string): number {
  const text = String(value)
  return toExactSum(/^-?\d+$/.test(text) ? BigInt(text) : BigInt(Math.round(Number(text))), property)
}

/** Drivers return the sum of a decimal column as text, which a double may not represent. */
function readDecimalSum (value: unknown, property: string): number {
  const number = Number(value)
  if (typeof value !== 'string' || String(number) === value || countDigits(value) <= 15) return number
  throw new InexactNumber(property)
}

/** How many digits a decimal has without zeros at its ends. A double keeps 15 of them. */
function countDigits (text: string): number {
  return text.replace(/[-.]/g, '').replace(/^0+/, '').replace(/0+$/, '').length
}

function readFigures (computed: readonly FigureColumns[], row: Row): Array<Scalar | null> {
  let at = 0
  return computed.map(({ columns, read }) => {
    at += columns.length
    return read(row.slice(at - columns.length, at))
  })
}

interface MatchingQuery {
  readonly query: AggregateQuery
  readonly context: Context
  readonly parameters: Parameters
}

/** Selects the values of the rows that match. */
function buildMatching (
  layout: Layout,
  values: readonly string[],
  { query, context: { scope }, parameters }: MatchingQuery
): string {
  const conditions = buildConditions(layout, { filter: query.filter, search: query.search, scope }, parameters)
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`
  return `SELECT ${values.join(', ')} FROM ${layout.table}${where}`
}

interface CheckedQuery extends MatchingQuery {
  readonly search: NonNullable<Query['search']>
  readonly sources: ReadonlyArray<Source | undefined>
  readonly values: readonly string[]
}

/** Reads the rows and groups them here. */
async function aggregateChecked (
  layout: Layout,
  session: Session,
  { query, search, context, parameters, sources, values }: CheckedQuery
): Promise<Aggregates> {
  const texts = new ConditionBuilder(layout, parameters).getSearchTexts(search.properties)
  const matches = createWordMatcher(search.words)
  const aggregation = new Aggregation(query, layout.shape.schema)
  const passes = (row: Row): boolean => {
    if (matches(row.slice(values.length))) {
      aggregation.add(sources.map((source, index) => source === undefined ? null : readValue(source, row[index])))
    }
    return false
  }
  const text = buildMatching(layout, [...values, ...texts], { query, context, parameters })
  // Reads large integers at the first attempt: after a second one, some rows would be counted twice.
  await session.rows({ text, values: parameters.values, context, check: { passes, limit: 1 }, unbounded: true })
  return aggregation.getResult()
}

/** SQLite fails to add up integers beyond 64 bits, and PostgreSQL doubles beyond their range. */
const overflow = /integer overflow|out of range: overflow/

async function readRows (
  layout: Layout,
  session: Session,
  statement: Statement,
  query: AggregateQuery
): Promise<readonly Row[]> {
  try {
    return await session.rows(statement)
  } catch (error) {
    const property = findNumber(layout, query)
    if (property === undefined) throw error
    // Servers may write messages in another language. Without values to compare, only a number of a group or a figure
    // can be out of range.
    const isOverflow = overflow.test(String((error as Partial<Error> | undefined)?.message)) ||
      (query.filter === undefined && layout.dialect.errors.isDataException(error))
    throw isOverflow ? new InexactNumber(property) : error
  }
}

/** Returns a property with numbers that the groups or the figures have. */
function findNumber (layout: Layout, { by, figures }: AggregateQuery): string | undefined {
  return [...figures, ...by]
    .map((part) => 'property' in part ? part.property : undefined)
    .find((property) => property !== undefined && numericKinds.has(getOperand(layout, property, undefined).kind))
}
