import type { Context, Id, Page, Query } from '../contract.ts'
import type { PagesStatement, Row, Value } from './dialect.ts'
import { buildConditions, ListSource } from './list-source.ts'
import { getColumn, type Layout } from './layout.ts'
import { getOperand } from './operand.ts'
import { readPage, readPastUnreadable, type ReadablePage } from './page-rows.ts'
import { joinTests, Parameters } from './parameters.ts'
import type { Projection } from './projection.ts'
import type { Session } from './session.ts'

/** The pages to read: one for each value. */
export interface PagesQuery<Item> {
  readonly by: { readonly property: string, readonly values: readonly Id[] }
  readonly query: Query
  readonly context: Context
  readonly createProjection: (source: ListSource) => Projection<Item>
}

/** Reads a page for each of several values, with one statement. */
export async function readPages<Item> (
  layout: Layout,
  session: Session,
  pagesQuery: PagesQuery<Item>
): Promise<ReadonlyArray<Page<Item>>> {
  const { by: { property, values }, query } = pagesQuery
  const { codec } = getColumn(layout, property)
  const empty: Page<Item> = { entries: [], more: false, ...query.count && { total: 0 } }
  const pages = values.map(() => empty)
  // No row has a value that cannot be bound.
  const given = values.flatMap((value, index) => codec.canBind(value) ? [{ value: codec.write(value), index }] : [])
  const reader = new PagesReader(layout, session, pagesQuery)
  for (const part of reader.split(given)) {
    const found = await reader.read(part.map(({ value }) => value))
    for (const [at, page] of found.entries()) pages[part[at]!.index] = page
  }
  return pages
}

class PagesReader<Item> {
  readonly #layout: Layout
  readonly #session: Session
  readonly #pagesQuery: PagesQuery<Item>
  readonly #list: ListSource
  readonly #found: ListSource
  readonly #projection: Projection<Item>

  constructor (layout: Layout, session: Session, pagesQuery: PagesQuery<Item>) {
    this.#layout = layout
    this.#session = session
    this.#pagesQuery = pagesQuery
    this.#list = new ListSource(layout, pagesQuery.query, 'listed')
    this.#found = new ListSource(layout, pagesQuery.query, 'found')
    this.#projection = pagesQuery.createProjection(this.#found)
  }

  /** Splits the values if the conditions of all of them are too many for one statement. */
  split<Given> (given: readonly Given[]): Given[][] {
    if (given.length === 0) return []
    const { dialect: { pages: { maxBound, bindsEach } } } = this.#layout
    const parameters = new Parameters(this.#layout.dialect)
    const { query, context } = this.#pagesQuery
    this.#list.buildJoins(parameters)
    this.#list.buildConditions(query, context, parameters)
    // The value of each list, which may be bound twice, and its limit.
    const bound = parameters.values.length + 3
    const size = bindsEach ? Math.max(1, Math.floor(maxBound / bound)) : given.length
    return Array.from({ length: Math.ceil(given.length / size) }, (_, index) => (
      given.slice(index * size, (index + 1) * size)
    ))
  }

  async read (values: readonly Value[]): Promise<Array<Page<Item>>> {
    const { limit, count } = this.#pagesQuery.query
    // Only the totals are wanted.
    if (limit === 0 && count) {
      const totals = await this.#count(values)
      return totals.map((total) => ({ entries: [], more: total > 0, total }))
    }
    const pages: Array<ReadablePage<Item>> = []
    let pending = values.map((value, index) => ({ value, index }))
    // Further rows are read only after rows that cannot be read.
    for (let wanted = limit + 1; pending.length > 0;) {
      const groups = await this.#readRows(pending.map(({ value }) => value), wanted)
      let next = 0
      const unfinished = pending.filter(({ index }, at) => {
        const rows = groups[at]!
        const page = readPage(rows, limit, this.#projection) ??
          readPastUnreadable(rows, { limit, wanted }, this.#projection)
        if (typeof page !== 'number') {
          pages[index] = page
          return false
        }
        next = Math.max(next, page)
        return true
      })
      pending = unfinished
      wanted = next
    }
    if (!count) return pages
    const totals = await this.#count(values)
    return pages.map((page, index) => ({ ...page, total: totals[index] ?? 0 }))
  }

  /** Reads the rows of each value. */
  async #readRows (values: readonly Value[], limit: number): Promise<Row[][]> {
    const parameters = new Parameters(this.#layout.dialect)
    const { pages } = this.#layout.dialect
    const list = this.#describeList(parameters, limit)
    const found = {
      select: this.#projection.select,
      id: this.#toKey(this.#found.layout, this.#layout.id.property),
      orderBy: this.#found.keyset.buildOrderBy(),
      table: this.#found.table,
      buildJoins: () => this.#found.buildJoins(parameters)
    }
    const text = pages.buildPages({ ...this.#describeColumn(parameters, values), list, found })
    const rows = await this.#session.rows({ text, values: parameters.values, context: this.#pagesQuery.context })
    const groups: Row[][] = values.map(() => [])
    for (const row of rows) groups[Number(row[0])]?.push(row.slice(1))
    return groups
  }

  async #count (values: readonly Value[]): Promise<number[]> {
    const parameters = new Parameters(this.#layout.dialect)
    const list = { ...this.#describeList(parameters, 0), buildJoins: () => '' }
    const text = this.#layout.dialect.pages.buildCounts({ ...this.#describeColumn(parameters, values), list })
    const rows = await this.#session.rows({ text, values: parameters.values, context: this.#pagesQuery.context })
    const totals: number[] = values.map(() => 0)
    for (const [number, total] of rows) totals[Number(number)] = Number(total)
    return totals
  }

  #describeColumn (
    parameters: Parameters,
    values: readonly Value[]
  ): Pick<PagesStatement, 'values' | 'bind' | 'column'> {
    const { property } = this.#pagesQuery.by
    return {
      values,
      bind: (value) => parameters.bind(value),
      column: {
        ...this.#toKey(this.#list.layout, property),
        name: getColumn(this.#layout, property).sql,
        table: this.#layout.table
      }
    }
  }

  #describeList (parameters: Parameters, limit: number): PagesStatement['list'] {
    const { by: { property }, query, context } = this.#pagesQuery
    const { layout, keyset, table } = this.#list
    const { dialect } = layout
    const { equatable } = getOperand(layout, property, undefined)
    return {
      select: this.#pagesQuery.createProjection(this.#list).select,
      id: this.#toKey(layout, layout.id.property),
      orderBy: keyset.buildOrderBy(),
      table,
      buildJoins: () => this.#list.buildJoins(parameters),
      buildEqual: (value) => joinTests(dialect, equatable, (expression) => `${expression} = ${parameters.bind(value)}`),
      buildConditions: () => buildConditions(layout, { ...query, scope: context.scope }, parameters)
        .map((condition) => ` AND ${condition}`)
        .join(''),
      buildLimit: () => parameters.bind(dialect.limit(limit))
    }
  }

  #toKey (layout: Layout, property: string): PagesStatement['list']['id'] {
    const { sql, kind } = getColumn(layout, property)
    return { sql, kind, managed: layout.managed }
  }
}
