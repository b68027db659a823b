import type { Context, Entry, Id, Page, Query, Version } from '../contract.ts'
import { Cache } from './cache.ts'
import type { Column } from './column.ts'
import { Conditions } from './condition.ts'
import type { Row } from './dialect.ts'
import { Keyset } from './keyset.ts'
import type { Layout } from './layout.ts'
import { equated, Parameters } from './parameters.ts'
import { RecentRows } from './recent-rows.ts'
import { projection, type Projection } from './rows.ts'
import type { Session, Statement } from './session.ts'

/** The statements that read, of one layout. */
export class Reading<Item extends object> {
  readonly full: Projection<Item>
  readonly #layout: Layout
  readonly #projections: Cache<Projection<Item>>
  readonly #find: string
  readonly #times: number
  readonly #first: (rows: readonly Row[]) => Entry<Item> | undefined
  readonly #recent: RecentRows | undefined

  constructor (layout: Layout) {
    const { dialect, id, own, table } = layout
    this.#layout = layout
    this.full = projection(layout, layout.columns)
    const { read } = this.full
    this.#projections = new Cache(100, (members) => projection(layout, selected(layout, JSON.parse(members))))
    const recent = layout.version.compare === undefined ? new RecentRows() : undefined
    this.#recent = recent
    this.#first = ([row]) => {
      if (row === undefined) return undefined
      const entry = read(row)
      recent?.add(entry.version, row)
      return entry
    }
    const equatable = dialect.equatable(id.sql, id.kind, own)
    this.#times = equatable.length
    this.#find = `SELECT ${this.full.select} FROM ${table} WHERE ${equated(dialect, equatable)}`
  }

  find (session: Session, id: Id, context: Context): Promise<Entry<Item> | undefined> {
    if (!this.#layout.id.codec.fits(id)) return Promise.resolve(undefined)
    return session.rows(this.#byId(id, context)).then(this.#first)
  }

  /** The row as it is; the id must fit. */
  async row (session: Session, id: Id, context: Context): Promise<Row | undefined> {
    return (await session.rows(this.#byId(id, context)))[0]
  }

  /** The row that had this version, if it was read lately. */
  recent (version: Version): Row | undefined {
    return this.#recent?.get(version)
  }

  #byId (id: Id, context: Context): Statement {
    const value = this.#layout.id.codec.write(id)
    const values = this.#times === 1 ? [value] : [value, value]
    if (context.scope === undefined) return { text: this.#find, values, context }
    const parameters = new Parameters(this.#layout.dialect, values)
    const scope = new Conditions(this.#layout, parameters).scope(context)
    return { text: this.#find + scope, values: parameters.values, context }
  }

  async list (session: Session, query: Query, context: Context): Promise<Page<Item>> {
    const { dialect, table } = this.#layout
    const parameters = new Parameters(dialect)
    const matching = this.#matching(query, context, parameters)
    const total = query.count
      ? await session.rows({ text: `SELECT count(*) FROM ${table}${where(matching)}`, values: [...parameters.values], context })
      : undefined
    const backward = query.before !== undefined
    const keyset = new Keyset(this.#layout, query.order, backward)
    if (query.after !== undefined) matching.push(keyset.past(query.after, parameters, backward))
    if (query.before !== undefined) matching.push(keyset.past(query.before, parameters))
    const { select, read } = this.#projection(query.members)
    const limit = parameters.bind(dialect.limit(query.limit + 1))
    const text = `SELECT ${select} FROM ${table}${where(matching)} ORDER BY ${keyset.orderBy()} LIMIT ${limit}`
    const rows = await session.rows({ text, values: parameters.values, context })
    const entries = rows.slice(0, query.limit).map(read)
    if (backward) entries.reverse()
    const page = { entries, more: rows.length > query.limit }
    return total === undefined ? page : { ...page, total: Number(total[0]?.[0]) }
  }

  #matching ({ filter, search }: Query, { scope }: Context, parameters: Parameters): string[] {
    const conditions = new Conditions(this.#layout, parameters)
    const matching = [scope, filter].filter((by) => by !== undefined).map((by) => conditions.filter(by))
    return search === undefined ? matching : [...matching, ...conditions.search(search)]
  }

  #projection (members: readonly string[] | undefined): Projection<Item> {
    // A digest is made of the whole row.
    return members === undefined || this.#recent !== undefined ? this.full : this.#projections.get(JSON.stringify(members))
  }
}

function selected ({ columns, id }: Layout, members: readonly string[]): readonly Column[] {
  const asked = new Set(members.flatMap((path) => [path, path.split('.', 1).join()]))
  return columns.filter((column) => column === id || asked.has(column.member))
}

function where (conditions: readonly string[]): string {
  return conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`
}
