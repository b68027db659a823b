import type { Context, Draft, Entry, Id, Refusal } from '../contract.ts'
import { Assignments } from './assignments.ts'
import { Cache } from './cache.ts'
import type { Dialect, Row } from './dialect.ts'
import type { Layout } from './layout.ts'
import type { Reading } from './reading.ts'
import { refusal } from './refusal.ts'
import type { Session } from './session.ts'
import { Targets, type Target } from './target.ts'

/** The statements that write, of one layout. */
export class Writing<Item extends object> {
  readonly #layout: Layout
  readonly #dialect: Dialect
  readonly #reading: Reading<Item>
  readonly #assignments: Assignments
  readonly #returning: string
  readonly #targets: Targets<Item>
  // Of the same parts the same text, so that it is known at once by whoever has prepared it.
  readonly #inserts = new Cache<string>(100)
  readonly #updates = new Cache<Cache<string>>(100)
  readonly #removes = new Cache<string>(100)

  constructor (layout: Layout, reading: Reading<Item>) {
    this.#layout = layout
    this.#dialect = layout.dialect
    this.#reading = reading
    this.#assignments = new Assignments(layout)
    this.#targets = new Targets(layout, reading)
    this.#returning = layout.dialect.returning ? ` RETURNING ${reading.full.select}` : ''
  }

  async insert (session: Session, draft: Draft<Item>, context: Context): Promise<Entry<Item> | Refusal> {
    const assigned = this.#assignments.insert(draft)
    const text = this.#inserts.get(assigned.text, () => `INSERT INTO ${this.#layout.table} ${assigned.text}${this.#returning}`)
    const statement = { text, values: assigned.values, context, writes: true }
    try {
      if (this.#dialect.returning) return this.#entry((await session.guarded(() => session.rows(statement)))[0])
      return await this.#together(session, async (inner) => {
        const made = await inner.write(statement)
        return await this.#written(inner, this.#assignments.row(assigned, made.id), context)
      })
    } catch (error) {
      return await refusal(this.#layout, session, error)
    }
  }

  async replace (session: Session, item: Readonly<Item>, target: Target): Promise<Entry<Item> | Refusal> {
    const assigned = this.#assignments.update(item)
    const conditional = this.#targets.conditional(target, assigned.values, this.#targets.derives(target) ? await this.#reading.row(session, target.id, target.context) : undefined)
    if ('refused' in conditional) return conditional
    const { where, values } = conditional
    const text = this.#updates.get(assigned.text, () => new Cache(100)).get(where, () => `UPDATE ${this.#layout.table} SET ${assigned.text} WHERE ${where}${this.#returning}`)
    const statement = { text, values, context: target.context, writes: true }
    try {
      if (this.#dialect.returning) {
        const answer = (await session.guarded(() => session.rows(statement)))[0]
        return answer === undefined ? await this.#targets.missed(session, target) : this.#entry(answer)
      }
      return await this.#together(session, async (inner) => {
        const { count } = await inner.write(statement)
        if (count === 0) return await this.#targets.missed(inner, target)
        return await this.#written(inner, this.#assignments.row(assigned, target.id), target.context)
      })
    } catch (error) {
      return await refusal(this.#layout, session, error)
    }
  }

  async remove (session: Session, target: Target): Promise<Refusal | undefined> {
    const conditional = this.#targets.conditional(target, [], this.#targets.derives(target) ? await this.#reading.row(session, target.id, target.context) : undefined)
    if ('refused' in conditional) return conditional
    const { where, values } = conditional
    const text = this.#removes.get(where, () => `DELETE FROM ${this.#layout.table} WHERE ${where}`)
    try {
      const { count } = await session.guarded(() => session.write({ text, values, context: target.context }))
      return count === 0 ? await this.#targets.missed(session, target) : undefined
    } catch (error) {
      return await refusal(this.#layout, session, error)
    }
  }

  #entry (row: Row | undefined): Entry<Item> {
    if (row === undefined) throw new Error(`The row written to ${this.#layout.name} was not to be seen`)
    return this.#reading.full.read(row)
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
