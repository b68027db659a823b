import type { Context, Entry, Id, Incomparable, Page, Query, Unreadable, Version } from '../contract.ts'
import { wordMatcher } from '../search-words.ts'
import type { Column } from './column.ts'
import { Conditions } from './condition.ts'
import type { Row } from './dialect.ts'
import { Keyset } from './keyset.ts'
import type { Layout } from './layout.ts'
import { equated, Parameters } from './parameters.ts'
import { RecentRows } from './recent-rows.ts'
import { projection, type Projection } from './rows.ts'
import type { Session, Statement } from './session.ts'

const mostProjections = 100

/** How many unreadable rows a page reads past. */
export const mostUnreadable = 1000

/** A row that a read cannot answer with, and why: for the log. */
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

/** The statements that read, of one layout. */
export class Reading<Item extends object> {
  readonly full: Projection<Item>
  readonly #layout: Layout
  readonly #projections = new Map<string, Projection<Item>>()
  readonly #find: string
  readonly #times: number
  readonly #first: (rows: readonly Row[]) => Entry<Item> | undefined
  readonly #recent: RecentRows | undefined

  constructor (layout: Layout) {
    const { dialect, id, own, table } = layout
    this.#layout = layout
    this.full = projection(layout, layout.columns)
    const recent = layout.version.compare === undefined ? new RecentRows() : undefined
    this.#recent = recent
    this.#first = ([row]) => {
      if (row === undefined) return undefined
      const entry = this.entry(row)
      recent?.add(entry.version, row)
      return entry
    }
    const equatable = dialect.equatable(id.sql, id.kind, own)
    this.#times = equatable.length
    this.#find = `SELECT ${this.full.select} FROM ${table} WHERE ${equated(dialect, equatable)}`
  }

  find (session: Session, id: Id, context: Context): Promise<Entry<Item> | undefined> {
    if (!this.#layout.id.codec.fits(id)) return Promise.resolve(undefined)
    return session.rows(this.#byId(id, context)).then(this.#first, this.#missing)
  }

  /** The entry of a row with all columns. */
  entry (row: Row): Entry<Item> {
    try {
      return this.full.read(row)
    } catch {
      throw new UnreadableRow(this.#layout.name, this.full.explain(row))
    }
  }

  /** No row has an id that the column cannot hold. */
  readonly #missing = (error: unknown): undefined => {
    if (!this.#layout.dialect.isDataException(error)) throw error
  }

  /** The row as it is; the id must fit. */
  async row (session: Session, id: Id, context: Context): Promise<Row | undefined> {
    return (await session.rows(this.#byId(id, context)).catch(this.#missing))?.[0]
  }

  /** The row that had this version, if it was read lately. */
  recent (version: Version): Row | undefined {
    return this.#recent?.get(version)
  }

  #byId (id: Id, context: Context): Statement {
    const value = this.#layout.id.codec.write(id)
    const values = this.#times === 1 ? [value] : [value, value]
    if (context.scope === undefined) return { text: this.#find, values, context, recurring: true }
    const parameters = new Parameters(this.#layout.dialect, values)
    const scope = new Conditions(this.#layout, parameters).scope(context)
    return { text: this.#find + scope, values: parameters.values, context, recurring: true }
  }

  async list (session: Session, query: Query, context: Context): Promise<Page<Item>> {
    const { dialect, table } = this.#layout
    const parameters = new Parameters(dialect)
    const matching = this.#matching(query, context, parameters)
    try {
      if (query.search !== undefined && !new Conditions(this.#layout, parameters).searchIsExact(query.search)) {
        return await this.#checkedList(session, { query, search: query.search, context, matching, parameters })
      }
      const total = query.count
        ? await session.rows({ text: `SELECT count(*) FROM ${table}${where(matching)}`, values: [...parameters.values], context })
        : undefined
      const projection = this.#projection(query.properties)
      const orderBy = this.#ordered(query, matching, parameters)
      const { values } = parameters
      const limit = parameters.bind(dialect.limit(query.limit + 1))
      const text = `SELECT ${projection.select} FROM ${table}${where(matching)} ORDER BY ${orderBy} LIMIT ${limit}`
      const rows = await session.rows({ text, values, context })
      const rowsUpTo = (most: number) => session.rows({ text, values: [...values.slice(0, -1), dialect.limit(most)], context })
      const page = await toPage(query, rows, { rowsUpTo, projection })
      return total === undefined ? page : { ...page, total: Number(total[0]?.[0]) }
    } catch (error) {
      const compares = query.filter !== undefined || query.after !== undefined || query.before !== undefined
      throw compares && dialect.isDataException(error) ? new IncomparableValue(this.#layout.name, error) : error
    }
  }

  /** A list whose rows the database finds by a part of the search only. */
  async #checkedList (session: Session, { query, search, context, matching, parameters }: CheckedList): Promise<Page<Item>> {
    const { table } = this.#layout
    const texts = new Conditions(this.#layout, parameters).searchTexts(search.properties).join(', ')
    const matches = wordMatcher(search.words)
    let total = 0
    if (query.count) {
      const passes = (row: Row) => {
        if (matches(row)) total++
        return false
      }
      await session.rows({ text: `SELECT ${texts} FROM ${table}${where(matching)}`, values: [...parameters.values], context, check: { passes, limit: 1 } })
    }
    const projection = this.#projection(query.properties)
    const { select, width } = projection
    const orderBy = this.#ordered(query, matching, parameters)
    const text = `SELECT ${select}, ${texts} FROM ${table}${where(matching)} ORDER BY ${orderBy}`
    const { values } = parameters
    const passes = (row: Row) => matches(row.slice(width))
    const rowsUpTo = async (limit: number) => {
      const rows = await session.rows({ text, values, context, check: { passes, limit } })
      return rows.map((row) => row.slice(0, width))
    }
    const page = await toPage(query, await rowsUpTo(query.limit + 1), { rowsUpTo, projection })
    return query.count ? { ...page, total } : page
  }

  /** Adds where the page begins to the conditions, and gives the order. */
  #ordered (query: Query, matching: string[], parameters: Parameters): string {
    const backward = query.before !== undefined
    const keyset = new Keyset(this.#layout, query.order, backward)
    if (query.after !== undefined) matching.push(keyset.past(query.after, parameters, backward))
    if (query.before !== undefined) matching.push(keyset.past(query.before, parameters))
    return keyset.orderBy()
  }

  #matching ({ filter, search }: Query, { scope }: Context, parameters: Parameters): string[] {
    const conditions = new Conditions(this.#layout, parameters)
    const matching = [scope, filter].filter((by) => by !== undefined).map((by) => conditions.filter(by))
    return search === undefined ? matching : [...matching, conditions.search(search)]
  }

  #projection (properties: readonly string[] | undefined): Projection<Item> {
    // A digest is made of the whole row.
    if (properties === undefined || this.#recent !== undefined) return this.full
    const key = JSON.stringify(properties)
    const known = this.#projections.get(key)
    if (known !== undefined) return known
    // Clients can select more sets of properties than a driver should remember: further ones get all, of which the rest is left out later.
    if (this.#projections.size === mostProjections) return this.full
    const made = projection<Item>(this.#layout, selected(this.#layout, properties))
    this.#projections.set(key, made)
    return made
  }
}

type ReadPage<Item> = Pick<Page<Item>, 'more' | 'unreadable'> & { entries: Array<Entry<Item>> }

/** One row more than the page has tells that there are more. Undefined if a row cannot be read. */
function readPage<Item> (rows: readonly Row[], limit: number, { read }: Projection<Item>): ReadPage<Item> | undefined {
  try {
    return { entries: rows.slice(0, limit).map(read), more: rows.length > limit }
  } catch {
    return undefined
  }
}

interface Further<Item> {
  /** The same rows and those that follow, so many in all. */
  readonly rowsUpTo: (most: number) => Promise<readonly Row[]>
  readonly projection: Projection<Item>
}

/** A page without the rows that cannot be read. As many rows are read further on, so that paging does not end there. */
async function readPastUnreadable<Item> (first: readonly Row[], limit: number, { rowsUpTo, projection: { read, explain } }: Further<Item>): Promise<ReadPage<Item>> {
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
    if (isFull || isEnd || unreadable.length > mostUnreadable) return { entries, more: !isEnd || isFull, unreadable }
    wanted = limit + 1 + Math.min(unreadable.length * 2, mostUnreadable)
    rows = await rowsUpTo(wanted)
  }
}

interface CheckedList {
  readonly query: Query
  readonly search: NonNullable<Query['search']>
  readonly context: Context
  readonly matching: string[]
  readonly parameters: Parameters
}

async function toPage<Item> (query: Query, rows: readonly Row[], further: Further<Item>): Promise<ReadPage<Item>> {
  const page = readPage(rows, query.limit, further.projection) ?? await readPastUnreadable(rows, query.limit, further)
  if (query.before !== undefined) page.entries.reverse()
  return page
}

function selected ({ columns, id }: Layout, properties: readonly string[]): readonly Column[] {
  const asked = new Set(properties.flatMap((path) => [path, path.split('.', 1).join()]))
  return columns.filter((column) => column === id || asked.has(column.property))
}

function where (conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`
}
