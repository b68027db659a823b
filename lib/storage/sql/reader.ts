import type { Context, Entry, Id, Incomparable, Page, Query, Unreadable, Version } from '../contract.ts'
import { joinFilters } from '../filter.ts'
import { createWordMatcher } from '../search-words.ts'
import type { Column } from './column.ts'
import { ConditionBuilder } from './condition-builder.ts'
import type { Row } from './dialect.ts'
import { Keyset } from './keyset.ts'
import type { Layout } from './layout.ts'
import { buildEquality, Parameters } from './parameters.ts'
import { createProjection, type Projection } from './projection.ts'
import { RecentRows } from './recent-rows.ts'
import type { Session, Statement } from './session.ts'

const maxProjections = 100

/** How many unreadable rows a page skips. */
export const maxUnreadable = 1000

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
    if (!this.#layout.dialect.isDataException(error)) throw error
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
    const lock = context.lock === true ? this.#layout.dialect.lockRows : ''
    if (context.scope === undefined) return { text: this.#find + lock, values, context, recurring: true }
    const parameters = new Parameters(this.#layout.dialect, values)
    const scope = new ConditionBuilder(this.#layout, parameters).buildScope(context)
    return { text: this.#find + scope + lock, values: parameters.values, context, recurring: true }
  }

  list (session: Session, query: Query, context: Context): Promise<Page<Item>> {
    return query.lock === true && this.#layout.dialect.locksScanned
      ? this.#lockFound(session, query, context)
      : this.#readPage(session, query, context)
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
    const { dialect, table } = this.#layout
    const parameters = new Parameters(dialect)
    const conditions = this.#buildConditions(query, context, parameters)
    try {
      const { search } = query
      if (search !== undefined && !new ConditionBuilder(this.#layout, parameters).isExactSearch(search)) {
        return await this.#listChecked(session, { query, search, context, conditions, parameters })
      }
      const counted = query.count
        ? await session.rows({
          text: `SELECT count(*) FROM ${table}${buildWhere(conditions)}`,
          values: [...parameters.values],
          context
        })
        : undefined
      const projection = this.#getProjection(query.properties)
      const orderBy = this.#addSeek(query, conditions, parameters)
      const { values } = parameters
      const limit = parameters.bind(dialect.limit(query.limit + 1))
      const lock = query.lock === true ? dialect.lockRows : ''
      const text = `SELECT ${projection.select} FROM ${table}${buildWhere(conditions)} ` +
        `ORDER BY ${orderBy} LIMIT ${limit}${lock}`
      const rows = await session.rows({ text, values, context })
      const readUpTo = (count: number) => {
        return session.rows({ text, values: [...values.slice(0, -1), dialect.limit(count)], context })
      }
      const page = await toPage(query, rows, { readUpTo, projection })
      return counted === undefined ? page : { ...page, total: Number(counted[0]?.[0]) }
    } catch (error) {
      const compares = query.filter !== undefined || query.after !== undefined || query.before !== undefined
      throw compares && dialect.isDataException(error) ? new IncomparableValue(this.#layout.name, error) : error
    }
  }

  /** Lists rows of which the database can test only a part of the search. */
  async #listChecked (
    session: Session,
    { query, search, context, conditions, parameters }: CheckedList
  ): Promise<Page<Item>> {
    const { table } = this.#layout
    const texts = new ConditionBuilder(this.#layout, parameters).getSearchTexts(search.properties).join(', ')
    const matches = createWordMatcher(search.words)
    let total = 0
    if (query.count) {
      const passes = (row: Row) => {
        if (matches(row)) total++
        return false
      }
      await session.rows({
        text: `SELECT ${texts} FROM ${table}${buildWhere(conditions)}`,
        values: [...parameters.values],
        context,
        check: { passes, limit: 1 }
      })
    }
    const projection = this.#getProjection(query.properties)
    const { select, width } = projection
    const orderBy = this.#addSeek(query, conditions, parameters)
    const text = `SELECT ${select}, ${texts} FROM ${table}${buildWhere(conditions)} ORDER BY ${orderBy}`
    const { values } = parameters
    const passes = (row: Row) => matches(row.slice(width))
    const readUpTo = async (limit: number) => {
      const rows = await session.rows({ text, values, context, check: { passes, limit } })
      return rows.map((row) => row.slice(0, width))
    }
    const page = await toPage(query, await readUpTo(query.limit + 1), { readUpTo, projection })
    return query.count ? { ...page, total } : page
  }

  /** Adds the conditions for the position of the page, and returns the ORDER BY. */
  #addSeek (query: Query, conditions: string[], parameters: Parameters): string {
    const backward = query.before !== undefined
    const keyset = new Keyset(this.#layout, query.order, backward)
    if (query.after !== undefined) conditions.push(keyset.buildSeek(query.after, parameters, backward))
    if (query.before !== undefined) conditions.push(keyset.buildSeek(query.before, parameters))
    return keyset.buildOrderBy()
  }

  #buildConditions ({ filter, search }: Query, { scope }: Context, parameters: Parameters): string[] {
    const builder = new ConditionBuilder(this.#layout, parameters)
    const conditions = [scope, filter]
      .filter((part) => part !== undefined)
      .map((part) => builder.buildFilter(part))
    return search === undefined ? conditions : [...conditions, builder.buildSearch(search)]
  }

  #getProjection (properties: readonly string[] | undefined): Projection<Item> {
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

interface CheckedList {
  readonly query: Query
  readonly search: NonNullable<Query['search']>
  readonly context: Context
  readonly conditions: string[]
  readonly parameters: Parameters
}

interface PageSource<Item> {
  /** Reads the same rows and those that follow, up to this many. */
  readonly readUpTo: (count: number) => Promise<readonly Row[]>
  readonly projection: Projection<Item>
}

type ReadablePage<Item> = Pick<Page<Item>, 'more' | 'unreadable'> & { entries: Array<Entry<Item>> }

async function toPage<Item> (
  query: Query,
  rows: readonly Row[],
  source: PageSource<Item>
): Promise<ReadablePage<Item>> {
  const page = readPage(rows, query.limit, source.projection) ??
    await readPastUnreadable(rows, query.limit, source)
  if (query.before !== undefined) page.entries.reverse()
  return page
}

/** There is more if there is one row more than the limit. Undefined if a row cannot be read. */
function readPage<Item> (
  rows: readonly Row[],
  limit: number,
  { read }: Projection<Item>
): ReadablePage<Item> | undefined {
  try {
    return { entries: rows.slice(0, limit).map(read), more: rows.length > limit }
  } catch {
    return undefined
  }
}

/** Reads a page without the unreadable rows, and as many rows further on, so that paging does not end there. */
async function readPastUnreadable<Item> (
  first: readonly Row[],
  limit: number,
  { readUpTo, projection: { read, explain } }: PageSource<Item>
): Promise<ReadablePage<Item>> {
  for (let rows = first, wanted = limit + 1; ;) {
    const entries: Array<Entry<Item>> = []
    const unreadable: Unreadable[] = []
    let at = 0
    for (; at < rows.length && entries.length < limit; at++) {
      try {
        entries.push(read(rows[at]!))
      } catch {
        unreadable.push(explain(rows[at]!))
      }
    }
    const isFull = at < rows.length
    const isEnd = rows.length < wanted
    if (isFull || isEnd || unreadable.length > maxUnreadable) {
      return { entries, more: !isEnd || isFull, unreadable }
    }
    wanted = limit + 1 + Math.min(unreadable.length * 2, maxUnreadable)
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
