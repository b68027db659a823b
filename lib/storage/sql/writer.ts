import type { Context, Draft, Entry, Id, Refusal } from '../contract.ts'
import { Assignments, type BoundAssignments } from './assignments.ts'
import { Cache } from './cache.ts'
import type { SqlDialect, Row, Value } from './dialect.ts'
import type { Layout } from './layout.ts'
import type { Reader } from './reader.ts'
import { toRefusal } from './refusal.ts'
import type { Session, Statement } from './session.ts'
import { TargetConditions, type Target, type WhereClause } from './target-conditions.ts'

type WriteOutcome<Item> = Entry<Item> | Refusal

/** The statements that write the table of one layout. */
export class Writer<Item extends object> {
  readonly #layout: Layout
  readonly #dialect: SqlDialect
  readonly #reader: Reader<Item>
  readonly #assignments: Assignments
  readonly #targets: TargetConditions<Item>
  // The same parts give the same text, so that a statement stays prepared. In an existing table, the number of texts
  // depends on the properties that clients leave out.
  readonly #inserts: Cache<string>
  readonly #updates: Cache<Cache<string>>
  readonly #removes: Cache<string>
  /** In a managed table, all values of the returned row were bound, except for an id that the database generates. */
  readonly #unbounded: boolean

  constructor (layout: Layout, reader: Reader<Item>) {
    const { dialect, table, managed, shape } = layout
    this.#layout = layout
    this.#dialect = dialect
    this.#reader = reader
    this.#assignments = new Assignments(layout)
    this.#targets = new TargetConditions(layout, reader)
    this.#unbounded = !managed || shape.id.generate === 'storage'
    const returning = dialect.returning ? ` RETURNING ${reader.projection.select}` : ''
    this.#inserts = new Cache(100, (assigned) => `INSERT INTO ${table} ${assigned}${returning}`)
    this.#updates = new Cache(100, (assigned) => {
      return new Cache(20, (where) => `UPDATE ${table} SET ${assigned} WHERE ${where}${returning}`)
    })
    this.#removes = new Cache(100, (where) => `DELETE FROM ${table} WHERE ${where}`)
  }

  insert (session: Session, draft: Draft<Item>, context: Context): Promise<WriteOutcome<Item>> {
    const assigned = this.#assignments.buildInsert(draft)
    const statement = this.#createStatement(this.#inserts.get(assigned.text), assigned.values, context)
    const refuse = (error: unknown) => toRefusal(this.#layout, { session, error, assigned })
    if (this.#dialect.returning) {
      return session.withSavepoint(statement.context, () => session.rows(statement))
        .then((rows) => this.#toReturnedEntry(rows[0], assigned), refuse)
    }
    return this.#writeAndRead(session, context, async (inner) => {
      const { id } = await inner.write(statement)
      return await this.#toWrittenEntry(inner, this.#assignments.toRow(assigned, id), context)
    }).catch(refuse)
  }

  replace (session: Session, item: Readonly<Item>, target: Target): Promise<WriteOutcome<Item>> {
    const assigned = this.#assignments.buildUpdate(item)
    return this.#writeTarget<WriteOutcome<Item>>(session, target, assigned.values, ({ where, values }) => {
      const text = this.#updates.get(assigned.text).get(where)
      const statement = this.#createStatement(text, values, target.context)
      const refuse = (error: unknown) => toRefusal(this.#layout, { session, error, assigned })
      if (this.#dialect.returning) {
        return session.withSavepoint(statement.context, () => session.rows(statement))
          .then<WriteOutcome<Item>, Refusal>(([row]) => {
            if (row === undefined) return this.#targets.explainMiss(session, target)
            return this.#toReturnedEntry(row, assigned)
          }, refuse)
      }
      return this.#writeAndRead(session, target.context, async (inner) => {
        const { count } = await inner.write(statement)
        if (count === 0) return await this.#targets.explainMiss(inner, target)
        return await this.#toWrittenEntry(inner, this.#assignments.toRow(assigned, target.id), target.context)
      }).catch(refuse)
    })
  }

  remove (session: Session, target: Target): Promise<Refusal | undefined> {
    return this.#writeTarget(session, target, [], ({ where, values }) => {
      const statement = { text: this.#removes.get(where), values, context: target.context, recurring: true }
      return session.withSavepoint(statement.context, () => session.write(statement)).then(
        ({ count }) => count === 0 ? this.#targets.explainMiss(session, target) : undefined,
        (error) => toRefusal(this.#layout, { session, error, assigned: undefined })
      )
    })
  }

  #createStatement (text: string, values: Value[], context: Context): Statement {
    return {
      text,
      values,
      context,
      writes: true,
      unbounded: this.#unbounded,
      recurring: this.#layout.managed
    }
  }

  /** Writes one row. The conditions are appended to values that are bound already. */
  #writeTarget<Result> (
    session: Session,
    target: Target,
    bound: Value[],
    write: (clause: WhereClause) => Promise<Result>
  ): Promise<Result | Refusal> {
    const writeRow = (row: Row | undefined): Promise<Result | Refusal> => {
      const clause = this.#targets.build(target, bound, row)
      return 'refused' in clause ? Promise.resolve(clause) : write(clause)
    }
    if (!this.#targets.needsRow(target)) return writeRow(undefined)
    const recent = this.#reader.getRecentRow(target.expected!)
    if (recent !== undefined) return writeRow(recent)
    return this.#reader.findRow(session, target.id, target.context).then(writeRow)
  }

  #toEntry (row: Row | undefined): Entry<Item> {
    if (row === undefined) throw new Error(`The database did not return the row written to ${this.#layout.name}`)
    return this.#reader.toEntry(row)
  }

  /**
   * Reads the row that a write returned. The write is done, so it is reported as done even if the database changed the
   * row to something that cannot be read: then the values that were sent replace the unreadable ones.
   */
  #toReturnedEntry (row: Row | undefined, assigned: BoundAssignments): Entry<Item> {
    const { projection } = this.#reader
    try {
      if (row !== undefined) return projection.read(row)
    } catch {
      const readable = projection.substitute(row!, this.#assignments.toRow(assigned, undefined))
      return this.#toEntry(readable)
    }
    return this.#toEntry(row)
  }

  /** In an existing table, the database may change the values, so the row is read in the transaction of the write. */
  async #toWrittenEntry (session: Session, row: Row, { signal }: Context): Promise<Entry<Item>> {
    const { managed, id, columns } = this.#layout
    if (managed) return this.#toEntry(row)
    // The value was bound as an id, or is a key that the database generated.
    const key = id.codec.read(row[columns.indexOf(id)]) as Id
    return this.#toEntry(await this.#reader.findRow(session, key, { signal, scope: undefined }))
  }

  /** Uses a transaction if the row is read after the write. */
  #writeAndRead<Result> (
    session: Session,
    context: Context,
    write: (session: Session) => Promise<Result>
  ): Promise<Result> {
    return this.#layout.managed
      ? session.withSavepoint(context, () => write(session))
      : session.transaction(write, context)
  }
}
