import type { Context, Id, Page, Query } from '../contract.ts'
import type { Row, Value } from './dialect.ts'
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
    const { dialect: { maxBound, pages } } = this.#layout
    const parameters = new Parameters(this.#layout.dialect)
    const { query, context } = this.#pagesQuery
    this.#list.buildJoins(parameters)
    this.#list.buildConditions(query, context, parameters)
    // The value of each list, which may be bound twice, and its limit.
    const bound = parameters.values.length + 3
    const size = pages === 'union' ? Math.max(1, Math.floor(maxBound / bound)) : given.length
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
    const groups: Row[][] = values.map(() => [])
    for (const row of await this.#run(this.#buildPages(values, limit, parameters), parameters)) {
      groups[Number(row[0])]?.push(row.slice(1))
    }
    return groups
  }

  async #count (values: readonly Value[]): Promise<number[]> {
    const parameters = new Parameters(this.#layout.dialect)
    const totals: number[] = values.map(() => 0)
    for (const [number, total] of await this.#run(this.#buildCounts(values, parameters), parameters)) {
      if (number !== null) totals[Number(number)] = Number(total)
    }
    return totals
  }

  #run (text: string, { values }: Parameters): Promise<readonly Row[]> {
    return this.#session.rows({ text, values, context: this.#pagesQuery.context })
  }

  #buildPages (values: readonly Value[], limit: number, parameters: Parameters): string {
    const { dialect } = this.#layout
    const [listId, foundId] = [this.#list, this.#found].map(({ layout: { id } }) => id.sql)
    const buildPage = (select: string, value?: Value) => {
      return `${this.#buildList(select, parameters, value)} ` +
        `ORDER BY ${this.#list.keyset.buildOrderBy()} LIMIT ${parameters.bind(dialect.limit(limit))}`
    }
    if (dialect.pages === 'lateral') {
      const { select } = this.#pagesQuery.createProjection(this.#list)
      return `SELECT given.number, page.* FROM ${this.#buildGiven(values, parameters)} ` +
        `CROSS JOIN LATERAL (${buildPage(select)}) AS page`
    }
    // The rows are read by their ids: a temporary table with long texts would be on disk.
    const isUnion = dialect.pages === 'union'
    const given = isUnion
      ? `(${joinSelects(values, (value, index) => buildPage(`${index} AS number, ${listId} AS id`, value))}) AS given`
      : this.#buildGiven(values, parameters)
    const from = `${given} ${dialect.joinGiven} ${this.#found.table}${this.#found.buildJoins(parameters)}`
    return `SELECT given.number, ${this.#projection.select} FROM ${from} ` +
      `WHERE ${foundId} ${isUnion ? '= given.id' : `IN (${buildPage(listId!)})`} ` +
      `ORDER BY given.number, ${this.#found.keyset.buildOrderBy()}`
  }

  #buildCounts (values: readonly Value[], parameters: Parameters): string {
    if (this.#layout.dialect.pages === 'union') {
      return joinSelects(values, (value, index) => this.#buildList(`${index}, count(*)`, parameters, value))
    }
    const total = this.#buildList('count(*)', parameters)
    return `SELECT given.number, (${total}) FROM ${this.#buildGiven(values, parameters)}`
  }

  /** The rows of one value: the given one, or that of the given rows. */
  #buildList (select: string, parameters: Parameters, value?: Value): string {
    const { by: { property }, query, context } = this.#pagesQuery
    const { layout, table } = this.#list
    const { dialect } = layout
    const from = `${table}${select.endsWith('count(*)') ? '' : this.#list.buildJoins(parameters)}`
    const isEqual = joinTests(dialect, getOperand(layout, property, undefined).equatable, (expression, index) => {
      const given = index === 0 ? 'given.value' : dialect.castToText('given.value')
      return `${expression} = ${value === undefined ? given : parameters.bind(value)}`
    })
    const conditions = buildConditions(layout, { ...query, scope: context.scope }, parameters)
    return `SELECT ${select} FROM ${from} WHERE ${[isEqual, ...conditions].join(' AND ')}`
  }

  #buildGiven (values: readonly Value[], parameters: Parameters): string {
    const { dialect, managed, table } = this.#layout
    const { sql, kind } = getColumn(this.#layout, this.#pagesQuery.by.property)
    return dialect.given({
      name: 'given',
      columns: [
        { name: 'number', kind: 'integer' },
        { name: 'value', kind, like: managed ? undefined : [sql, table] }
      ],
      rows: values.map((value, index) => [index, value]),
      bind: (value) => parameters.bind(value)
    })
  }
}

function joinSelects (values: readonly Value[], build: (value: Value, index: number) => string): string {
  return values.map((value, index) => `(${build(value, index)})`).join(' UNION ALL ')
}
