import type { Context, Draft, Entry, Id, Refusal } from '../contract.ts'
import { Assignments, type Assigned } from './assignments.ts'
import { Cache } from './cache.ts'
import type { Dialect, Row, Value } from './dialect.ts'
import type { Layout } from './layout.ts'
import type { Reading } from './reading.ts'
import { refusal } from './refusal.ts'
import type { Session } from './session.ts'
import { Targets, type Conditional, type Target } from './target.ts'

/** The statements that write, of one layout. */
export class Writing<Item extends object> {
  readonly #layout: Layout
  readonly #dialect: Dialect
  readonly #reading: Reading<Item>
  readonly #assignments: Assignments
  readonly #targets: Targets<Item>
  // The same parts give the same text, so that a statement stays prepared. In an existing table, the properties that
  // clients leave out decide how many texts there are.
  readonly #inserts: Cache<string>
  readonly #updates: Cache<Cache<string>>
  readonly #removes: Cache<string>
  /** In a table of ours, all that is read was bound, but for an id that the database makes. */
  readonly #unbounded: boolean

  constructor (layout: Layout, reading: Reading<Item>) {
    this.#layout = layout
    this.#dialect = layout.dialect
    this.#reading = reading
    this.#assignments = new Assignments(layout)
    this.#targets = new Targets(layout, reading)
    this.#unbounded = !layout.own || layout.shape.id.generate === 'storage'
    const { table } = layout
    const returning = layout.dialect.returning ? ` RETURNING ${reading.full.select}` : ''
    this.#inserts = new Cache(100, (assigned) => `INSERT INTO ${table} ${assigned}${returning}`)
    this.#updates = new Cache(100, (assigned) => new Cache(20, (where) => `UPDATE ${table} SET ${assigned} WHERE ${where}${returning}`))
    this.#removes = new Cache(100, (where) => `DELETE FROM ${table} WHERE ${where}`)
  }

  insert (session: Session, draft: Draft<Item>, context: Context): Promise<Entry<Item> | Refusal> {
    const assigned = this.#assignments.insert(draft)
    const statement = { text: this.#inserts.get(assigned.text), values: assigned.values, context, writes: true, unbounded: this.#unbounded, recurring: this.#layout.own }
    const refused = (error: unknown) => refusal(this.#layout, { session, error, assigned })
    if (this.#dialect.returning) return session.guarded(() => session.rows(statement)).then((rows) => this.#returned(rows[0], assigned), refused)
    return this.#together(session, async (inner) => {
      const made = await inner.write(statement)
      return await this.#written(inner, this.#assignments.row(assigned, made.id), context)
    }).catch(refused)
  }

  replace (session: Session, item: Readonly<Item>, target: Target): Promise<Entry<Item> | Refusal> {
    const assigned = this.#assignments.update(item)
    return this.#aimed<Entry<Item> | Refusal>(session, target, assigned.values, ({ where, values }) => {
      const statement = { text: this.#updates.get(assigned.text).get(where), values, context: target.context, writes: true, unbounded: this.#unbounded, recurring: this.#layout.own }
      const refused = (error: unknown) => refusal(this.#layout, { session, error, assigned })
      if (this.#dialect.returning) return session.guarded(() => session.rows(statement)).then<Entry<Item> | Refusal, Refusal>((rows) => rows[0] === undefined ? this.#targets.missed(session, target) : this.#returned(rows[0], assigned), refused)
      return this.#together(session, async (inner) => {
        const { count } = await inner.write(statement)
        if (count === 0) return await this.#targets.missed(inner, target)
        return await this.#written(inner, this.#assignments.row(assigned, target.id), target.context)
      }).catch(refused)
    })
  }

  remove (session: Session, target: Target): Promise<Refusal | undefined> {
    return this.#aimed(session, target, [], ({ where, values }) => {
      const statement = { text: this.#removes.get(where), values, context: target.context, recurring: true }
      return session.guarded(() => session.write(statement)).then(({ count }) => count === 0 ? this.#targets.missed(session, target) : undefined, (error) => refusal(this.#layout, { session, error, assigned: undefined }))
    })
  }

  /** A write of one row, behind values that are bound already. */
  #aimed<Result> (session: Session, target: Target, set: Value[], write: (conditional: Conditional) => Promise<Result>): Promise<Result | Refusal> {
    const aim = (row: Row | undefined): Promise<Result | Refusal> => {
      const conditional = this.#targets.conditional(target, set, row)
      return 'refused' in conditional ? Promise.resolve(conditional) : write(conditional)
    }
    if (!this.#targets.isDigest(target)) return aim(undefined)
    const recent = this.#reading.recent(target.expected!)
    return recent === undefined ? this.#reading.row(session, target.id, target.context).then(aim) : aim(recent)
  }

  #entry (row: Row | undefined): Entry<Item> {
    if (row === undefined) throw new Error(`The row written to ${this.#layout.name} was not to be seen`)
    return this.#reading.entry(row)
  }

  /**
   * The row that a write returned. The write is done, so it is reported as done even if the database made something of the
   * row that cannot be read: then what was sent takes its place.
   */
  #returned (row: Row | undefined, assigned: Assigned): Entry<Item> {
    const { full } = this.#reading
    try {
      if (row !== undefined) return full.read(row)
    } catch {
      const readable = full.substitute(row!, this.#assignments.row(assigned, undefined))
      return this.#entry(readable)
    }
    return this.#entry(row)
  }

  /** What the values were made into by a table that exists is read within the transaction of the write. */
  async #written (session: Session, row: Row, { signal }: Context): Promise<Entry<Item>> {
    const { own, id, columns } = this.#layout
    if (own) return this.#entry(row)
    // The value was bound as an id, or is a key that the database made.
    const key = id.codec.read(row[columns.indexOf(id)]) as Id
    return this.#entry(await this.#reading.row(session, key, { signal, scope: undefined }))
  }

  /** A write, and what is read after it where the table is not ours. */
  #together<Result> (session: Session, write: (session: Session) => Promise<Result>): Promise<Result> {
    return this.#layout.own ? session.guarded(() => write(session)) : session.transaction(write)
  }
}
