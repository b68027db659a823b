import type {
  AggregateQuery,
  Aggregates,
  Context,
  Entry,
  Id,
  Incomparable,
  Page,
  Query,
  Unreadable,
  Version
} from '../contract.ts'
import { joinFilters } from '../filter.ts'
import { createWordMatcher } from '../search-words.ts'
import type { Column } from './column.ts'
import { ConditionBuilder, isExactSearch } from './condition-builder.ts'
import type { Row } from './dialect.ts'
import { buildConditions, ListSource } from './list-source.ts'
import type { Layout } from './layout.ts'
import { readPage, readPastUnreadable, type ReadablePage } from './page-rows.ts'
import { buildEquality, Parameters } from './parameters.ts'
import { createProjection, withPositions, type Projection } from './projection.ts'
import { RecentRows } from './recent-rows.ts'
import type { Session, Statement } from './session.ts'

const maxProjections = 100

// Only apps with aggregates or relations load these. To import a file again would take 20 us of CPU time.
let aggregateReader: Promise<typeof import('./aggregate-reader.ts')> | undefined
let pagesReader: Promise<typeof import('./pages-reader.ts')> | undefined

/** A single row that does not match the schema, and why: for the log. */
class UnreadableRow extends Error {
  constructor (table: string, { id, reason }: Unreadable) {
    super(`A row of ${table} cannot be read${id === undefined ? '' : `, id ${JSON.stringify(id)}`}: ${reason}`)
    this.name = 'UnreadableRow'
  }
}

class IncomparableValue extends Error implements Incomparable {
  readonly incomparable = true

  constructor (table: string, cause: unknown) {
    super(`A value of the query cannot be compared in ${table}`, { cause })
    this.name = 'IncomparableValue'
  }
}

/** The statements that read the table of one layout. */
export class Reader<Item extends object> {
  /** All columns. */
  readonly projection: Projection<Item>
  readonly #layout: Layout
  /** By the properties that clients select. */
  readonly #projections = new Map<string, Projection<Item>>()
  readonly #find: string
  /** How often the id is bound: once for each expression that tests its equality. */
  readonly #idParameters: number
  readonly #toFirstEntry: (rows: readonly Row[]) => Entry<Item> | undefined
  /** Undefined if versions are not digests. */
  readonly #recent: RecentRows | undefined

  constructor (layout: Layout) {
    const { dialect, id, managed, table } = layout
    this.#layout = layout
    this.projection = createProjection(layout, layout.columns)
    const recent = layout.version.compare === undefined ? new RecentRows() : undefined
    this.#recent = recent
    this.#toFirstEntry = ([row]) => {
      if (row === undefined) return undefined
      const entry = this.toEntry(row)
      recent?.add(entry.version, row)
      return entry
    }
    const equatable = dialect.equatable(id.sql, id.kind, managed)
    this.#idParameters = equatable.length
    this.#find = `SELECT ${this.projection.select} FROM ${table} WHERE ${buildEquality(dialect, equatable)}`
  }

  find (session: Session, id: Id, context: Context): Promise<Entry<Item> | undefined> {
    if (!this.#layout.id.codec.canBind(id)) return Promise.resolve(undefined)
    return session.rows(this.#buildFind(id, context)).then(this.#toFirstEntry, this.#ignoreDataException)
  }

  /** Reads a row with all columns. */
  toEntry (row: Row): Entry<Item> {
    try {
      return this.projection.read(row)
    } catch {
      throw new UnreadableRow(this.#layout.name, this.projection.explain(row))
    }
  }

  /** No row has an id that the column cannot store. */
  readonly #ignoreDataException = (error: unknown): undefined => {
    if (!this.#layout.dialect.errors.isDataException(error)) throw error
  }

  /** Finds the row itself. The caller checks that the id can be bound. */
  async findRow (session: Session, id: Id, context: Context): Promise<Row | undefined> {
    return (await session.rows(this.#buildFind(id, context)).catch(this.#ignoreDataException))?.[0]
  }

  /** The row with this version, if it was read recently. */
  getRecentRow (version: Version): Row | undefined {
    return this.#recent?.get(version)
  }

  #buildFind (id: Id, context: Context): Statement {
    const value = this.#layout.id.codec.write(id)
    const values = this.#idParameters === 1 ? [value] : [value, value]
    const lock = context.lock === true ? this.#layout.dialect.lockRows('change') : ''
    if (context.scope === undefined) return { text: this.#find + lock, values, context, recurring: true }
    const parameters = new Parameters(this.#layout.dialect, values)
    const scope = new ConditionBuilder(this.#layout, parameters).buildScope(context)
    return { text: this.#find + scope + lock, values: parameters.values, context, recurring: true }
  }

  list (session: Session, query: Query, context: Context): Promise<Page<Item>> {
    // A locking read is the only one that does not return the rows of a snapshot.
    return isLocking(query) && query.latest !== true && this.#layout.dialect.locksScanned
      ? this.#lockFound(session, query, context)
      : this.#readPage(session, query, context)
  }

  async aggregate (session: Session, query: AggregateQuery, context: Context): Promise<Aggregates> {
    const { readAggregates } = await (aggregateReader ??= import('./aggregate-reader.ts'))
    try {
      return await readAggregates(this.#layout, session, query, context)
    } catch (error) {
      const compares = query.filter !== undefined
      const { name, dialect } = this.#layout
      throw compares && dialect.errors.isDataException(error) ? new IncomparableValue(name, error) : error
    }
  }

  /** Finds the rows, then locks those that still match: a locking read that scans the table would lock all of it. */
  async #lockFound (session: Session, query: Query, context: Context): Promise<Page<Item>> {
    const { property } = this.#layout.id
    const found = await this.#readPage(session, { ...query, lock: false, properties: [property] }, context)
    if (found.entries.length === 0) return found
    const byId = { property, is: 'in', value: found.entries.map(({ id }) => id) } as const
    const locked = { ...query, filter: joinFilters(query.filter, byId), count: false }
    return { ...found, ...await this.#readPage(session, locked, context), more: found.more }
  }

  async #readPage (session: Session, query: Query, context: Context): Promise<Page<Item>> {
    const { dialect } = this.#layout
    const parameters = new Parameters(dialect)
    const source = new ListSource(this.#layout, query)
    const from = `${source.table}${source.buildJoins(parameters)}`
    const conditions = source.buildConditions(query, context, parameters)
    try {
      const { search } = query
      if (search !== undefined && !isExactSearch(dialect, search)) {
        return await this.#listChecked(session, { query, search, context, source, from, conditions, parameters })
      }
      const counted = query.count
        ? await session.rows(this.#buildCount('count(*)', { query, context, source, conditions, parameters }))
        : undefined
      const projection = this.#getProjection(query.properties, source)
      const orderBy = addSeek(query, source, { conditions, parameters })
      const { values } = parameters
      const limit = parameters.bind(dialect.limit(query.limit + 1))
      const text = `SELECT ${projection.select} FROM ${from}${buildWhere(conditions)} ` +
        `ORDER BY ${orderBy} LIMIT ${limit}${buildLock(source, query, session)}`
      const rows = await session.rows({ text, values, context })
      const readUpTo = (count: number) => {
        return session.rows({ text, values: [...values.slice(0, -1), dialect.limit(count)], context })
      }
      const page = await toPage(query, rows, { readUpTo, projection })
      return counted === undefined ? page : { ...page, total: Number(counted[0]?.[0]) }
    } catch (error) {
      const compares = query.filter !== undefined || query.after !== undefined || query.before !== undefined
      throw compares && dialect.errors.isDataException(error) ? new IncomparableValue(this.#layout.name, error) : error
    }
  }

  /** Lists rows of which the database can test only a part of the search. */
  async #listChecked (
    session: Session,
    { query, search, context, source, from, conditions, parameters }: CheckedList
  ): Promise<Page<Item>> {
    const getTexts = (layout: Layout) => {
      return new ConditionBuilder(layout, parameters).getSearchTexts(search.properties).join(', ')
    }
    const matches = createWordMatcher(search.words)
    let total = 0
    if (query.count) {
      const passes = (row: Row) => {
        if (matches(row)) total++
        return false
      }
      const counted = this.#buildCount(getTexts(this.#layout), { query, context, source, conditions, parameters })
      await session.rows({ ...counted, check: { passes, limit: 1 } })
    }
    const projection = this.#getProjection(query.properties, source)
    const { select, width } = projection
    const orderBy = addSeek(query, source, { conditions, parameters })
    const texts = getTexts(source.layout)
    const text = `SELECT ${select}, ${texts} FROM ${from}${buildWhere(conditions)} ORDER BY ${orderBy}`
    const { values } = parameters
    const passes = (row: Row) => matches(row.slice(width))
    const readUpTo = async (limit: number) => {
      const rows = await session.rows({ text, values, context, check: { passes, limit } })
      return rows.map((row) => row.slice(0, width))
    }
    const page = await toPage(query, await readUpTo(query.limit + 1), { readUpTo, projection })
    return query.count ? { ...page, total } : page
  }

  /** Builds the statement that counts the entries, whatever their order. */
  #buildCount (select: string, { query, context, source, conditions, parameters }: CountedList): Statement {
    const { dialect, table } = this.#layout
    if (!source.isJoined) {
      const text = `SELECT ${select} FROM ${table}${buildWhere(conditions)}`
      return { text, values: [...parameters.values], context }
    }
    const own = new Parameters(dialect)
    const where = buildWhere(buildConditions(this.#layout, { ...query, scope: context.scope }, own))
    return { text: `SELECT ${select} FROM ${table}${where}`, values: own.values, context }
  }

  async listBy (
    session: Session,
    by: { readonly property: string, readonly values: readonly Id[] },
    query: Query,
    context: Context
  ): Promise<ReadonlyArray<Page<Item>>> {
    const { dialect, name } = this.#layout
    if (query.search !== undefined && !isExactSearch(dialect, query.search)) {
      return await this.#listEach(session, by, query, context)
    }
    const { readPages } = await (pagesReader ??= import('./pages-reader.ts'))
    try {
      const createProjection = (source: ListSource) => this.#getProjection(query.properties, source)
      return await readPages(this.#layout, session, { by, query, context, createProjection })
    } catch (error) {
      throw dialect.errors.isDataException(error) ? new IncomparableValue(name, error) : error
    }
  }

  /** Reads the pages one by one, because their rows have to be checked here. */
  async #listEach (
    session: Session,
    { property, values }: { readonly property: string, readonly values: readonly Id[] },
    query: Query,
    context: Context
  ): Promise<Array<Page<Item>>> {
    const pages: Array<Page<Item>> = []
    for (const value of values) {
      const filter = joinFilters(query.filter, { property, is: 'eq', value })
      pages.push(await this.#readPage(session, { ...query, filter }, context))
    }
    return pages
  }

  /** A list that is joined with others has qualified columns, and its entries have positions. */
  #getProjection (properties: readonly string[] | undefined, source: ListSource): Projection<Item> {
    const { layout, isJoined, keyset } = source
    if (layout === this.#layout) return this.#getOwnProjection(properties)
    const isWhole = properties === undefined || this.#recent !== undefined
    const projection = createProjection<Item>(layout, isWhole ? layout.columns : selectColumns(layout, properties))
    return isJoined ? withPositions(projection, layout.dialect, keyset.operands) : projection
  }

  #getOwnProjection (properties: readonly string[] | undefined): Projection<Item> {
    // A digest needs the whole row.
    if (properties === undefined || this.#recent !== undefined) return this.projection
    const key = JSON.stringify(properties)
    const known = this.#projections.get(key)
    if (known !== undefined) return known
    // Clients can select more sets of properties than should stay prepared. Further ones read all columns, and the
    // response leaves out the rest.
    if (this.#projections.size === maxProjections) return this.projection
    const projection = createProjection<Item>(this.#layout, selectColumns(this.#layout, properties))
    this.#projections.set(key, projection)
    return projection
  }
}

interface CountedList {
  readonly query: Query
  readonly context: Context
  readonly source: ListSource
  readonly conditions: string[]
  readonly parameters: Parameters
}

interface CheckedList extends CountedList {
  readonly search: NonNullable<Query['search']>
  /** The table, and what it is joined with. */
  readonly from: string
}

/** Adds the conditions for the position of the page, and returns the ORDER BY. */
function addSeek (
  { after, before }: Query,
  { keyset }: ListSource,
  { conditions, parameters }: Pick<CountedList, 'conditions' | 'parameters'>
): string {
  if (after !== undefined) conditions.push(keyset.buildSeek(after, parameters, before !== undefined))
  if (before !== undefined) conditions.push(keyset.buildSeek(before, parameters))
  return keyset.buildOrderBy()
}

function isLocking ({ lock }: Query): boolean {
  return lock !== undefined && lock !== false
}

function buildLock ({ layout: { dialect, alias } }: ListSource, query: Query, { isRepeated }: Session): string {
  if (!isLocking(query)) return ''
  const { lock } = query
  // Two transactions with a shared lock that both change the row after it would meet the same deadlock again.
  const isShared = lock === 'existence' && isRepeated !== true
  return dialect.lockRows(isShared || lock === 'removal' ? lock : 'change', alias)
}

interface PageSource<Item> {
  /** Reads the same rows and those that follow, up to this many. */
  readonly readUpTo: (count: number) => Promise<readonly Row[]>
  readonly projection: Projection<Item>
}

async function toPage<Item> (
  query: Query,
  rows: readonly Row[],
  source: PageSource<Item>
): Promise<ReadablePage<Item>> {
  const page = readPage(rows, query.limit, source.projection) ??
    await skipUnreadable(rows, query.limit, source)
  if (query.before !== undefined) page.entries.reverse()
  return page
}

/** Reads a page without the unreadable rows, and as many rows further on. */
async function skipUnreadable<Item> (
  first: readonly Row[],
  limit: number,
  { readUpTo, projection }: PageSource<Item>
): Promise<ReadablePage<Item>> {
  for (let rows = first, wanted = limit + 1; ;) {
    const page = readPastUnreadable(rows, { limit, wanted }, projection)
    if (typeof page !== 'number') return page
    wanted = page
    rows = await readUpTo(wanted)
  }
}

function selectColumns ({ columns, id }: Layout, properties: readonly string[]): readonly Column[] {
  const selected = new Set(properties.flatMap((path) => [path, path.split('.', 1).join()]))
  return columns.filter((column) => column === id || selected.has(column.property))
}

function buildWhere (conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`
}
