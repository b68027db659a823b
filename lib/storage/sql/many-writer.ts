import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Context, Draft, Entry, Refusal, Replacement } from '../contract.ts'
import { Assignments, type BoundAssignments } from './assignments.ts'
import { ConditionBuilder } from './condition-builder.ts'
import type { Value } from './dialect.ts'
import type { WriteKind } from './foreign-keys.ts'
import type { Kind } from './kind.ts'
import type { Layout } from './layout.ts'
import { Parameters } from './parameters.ts'
import type { Reader } from './reader.ts'
import { toRefusal } from './refusal.ts'
import type { Session } from './session.ts'

const stale: Refusal = Object.freeze({ refused: 'stale' })

/** Nothing is known about the value that cannot be stored. */
const unknownAssignments: BoundAssignments = { text: '', columns: [], values: [] }

/** A column that a statement sets. */
interface SetColumn {
  readonly sql: string
  readonly kind: Kind
}

/** The statements that write several rows of one layout at once. */
export class ManyWriter<Item extends object> {
  readonly #layout: Layout
  readonly #reader: Reader<Item>
  readonly #assignments: Assignments
  readonly #version: string
  /** The columns after those of the item, in the order of the values of `Assignments`. */
  readonly #bookkeeping: readonly SetColumn[]

  private constructor (layout: Layout, reader: Reader<Item>, version: string) {
    const { nulls } = layout
    this.#layout = layout
    this.#reader = reader
    this.#assignments = new Assignments(layout)
    this.#version = version
    this.#bookkeeping = [
      { sql: version, kind: 'text' },
      ...nulls === undefined ? [] : [{ sql: nulls, kind: 'json' } as const]
    ]
  }

  /**
   * Undefined for an existing table: the types of its columns are not known, and the database may set some of them, so
   * each row is written and read by statements of its own.
   */
  static create<Item extends object> (layout: Layout, reader: Reader<Item>): ManyWriter<Item> | undefined {
    const { managed, columns, version: { compare } } = layout
    if (!managed || compare === undefined || columns.some(({ generated }) => generated)) return undefined
    return new ManyWriter(layout, reader, compare.sql)
  }

  /** A database that generates the ids does not say which row got which. */
  get canInsert (): boolean {
    return this.#layout.shape.id.generate !== 'storage'
  }

  async insert (
    session: Session,
    drafts: ReadonlyArray<Draft<Item>>,
    context: Context
  ): Promise<ReadonlyArray<Entry<Item>> | Refusal> {
    const { columns, table } = this.#layout
    const assigned = drafts.map((draft) => this.#assignments.buildInsert(draft))
    const inserted = [...columns, ...this.#bookkeeping]
    const names = inserted.map(({ sql }) => sql).join(', ')
    const given = { rows: assigned.map(({ values }) => values), kinds: inserted.map(({ kind }) => kind), context }
    const refusal = await this.#write(session, given, ({ given }) => (
      `INSERT INTO ${table} (${names}) SELECT * FROM ${given}`
    ))
    if (refusal !== undefined) return refusal
    return assigned.map((one) => this.#reader.toEntry(this.#assignments.toRow(one, undefined)))
  }

  async replace (
    session: Session,
    replacements: ReadonlyArray<Replacement<Item>>,
    context: Context
  ): Promise<ReadonlyArray<Entry<Item>> | Refusal> {
    const { dialect: { quote, writesGiven, joinGiven }, table, columns, id } = this.#layout
    const written = replacements.map(({ before, item }) => ({ before, assigned: this.#assignments.buildUpdate(item) }))
    const rows = written.map(({ before, assigned }) => [...this.#toTarget(before), ...assigned.values])
    const changed = [...columns.filter((column) => column !== id), ...this.#bookkeeping]
    const set = changed
      .map(({ sql }, index) => `${sql} = ${quote(givenName)}.${quote(getValueName(index + targetWidth))}`)
      .join(', ')
    const kinds = [...this.#targetKinds, ...changed.map(({ kind }) => kind)]
    const refusal = await this.#write(session, { rows, kinds, context }, ({ given, isTarget }) => (
      writesGiven === 'join'
        ? `UPDATE ${given} ${joinGiven} ${table} SET ${set} WHERE ${isTarget()}`
        : `UPDATE ${table} SET ${set} FROM ${given} WHERE ${isTarget()}`
    ))
    if (refusal !== undefined) return refusal
    // All values of the rows were bound.
    return written.map(({ before, assigned }) => this.#reader.toEntry(this.#assignments.toRow(assigned, before.id)))
  }

  remove (session: Session, entries: ReadonlyArray<Entry<Item>>, context: Context): Promise<Refusal | undefined> {
    const { dialect: { writesGiven, joinGiven }, table, id } = this.#layout
    const rows = entries.map((entry) => this.#toTarget(entry))
    const given = { rows, kinds: this.#targetKinds, context, kind: 'remove' } as const
    return this.#write(session, given, ({ given, isTarget }) => {
      if (writesGiven === 'using') return `DELETE FROM ${table} USING ${given} WHERE ${isTarget()}`
      const joined = `FROM ${given} ${joinGiven} ${table} WHERE ${isTarget()}`
      return writesGiven === 'join'
        ? `DELETE ${table} ${joined}`
        : `DELETE FROM ${table} WHERE ${id.sql} IN (SELECT ${id.sql} ${joined})`
    })
  }

  /** The values by which a row is found. */
  #toTarget ({ id, version }: Entry<Item>): Value[] {
    const { id: { codec } } = this.#layout
    return [codec.write(id), version]
  }

  get #targetKinds (): readonly Kind[] {
    return [this.#layout.id.kind, 'text']
  }

  async #write (session: Session, given: GivenValues, build: BuildStatement): Promise<Refusal | undefined> {
    const { rows, kinds } = given
    const { maxBound, bindsGiven } = this.#layout.dialect
    const most = bindsGiven ? Math.floor((maxBound - reservedValues) / kinds.length) : maxRows
    const parts = splitRows(rows, Math.min(most, maxRows))
    const write = async () => {
      for (const part of parts) {
        const count = await this.#writePart(session, { ...given, rows: part }, build)
        if (count !== part.length) return stale
        await nextTurn()
      }
      return undefined
    }
    try {
      return await (parts.length > 1 ? withSavepoint(session, write) : write())
    } catch (error) {
      return toRefusal(this.#layout, { session, error, assigned: unknownAssignments, kind: given.kind ?? 'write' })
    }
  }

  async #writePart (session: Session, { rows, kinds, context }: GivenValues, build: BuildStatement): Promise<number> {
    const { dialect, id } = this.#layout
    const parameters = new Parameters(dialect)
    const columns = kinds.map((kind, index) => ({ name: dialect.quote(getValueName(index)), kind }))
    const [givenId = '', givenVersion = ''] = columns.map(({ name }) => `${dialect.quote(givenName)}.${name}`)
    const { givenKey = (value) => value } = dialect
    const text = build({
      given: dialect.given({
        name: dialect.quote(givenName),
        columns,
        rows,
        bind: (value) => parameters.bind(value)
      }),
      isTarget: () => `${dialect.equatable(id.sql, id.kind, true)[0]} = ${givenKey(givenId, id.kind)} ` +
        `AND ${this.#version} = ${givenKey(givenVersion, 'text')}` +
        new ConditionBuilder(this.#layout, parameters).buildScope(context)
    })
    const statement = { text, values: parameters.values, context, recurring: !dialect.bindsGiven }
    const { count } = await session.withSavepoint(context, () => session.write(statement))
    return count
  }
}

type BuildStatement = (statement: {
  /** The table of the given rows. */
  readonly given: string
  /** Builds the conditions that a row is the target of a given one. Called after the rows are bound. */
  readonly isTarget: () => string
}) => string

interface GivenValues {
  readonly rows: ReadonlyArray<readonly Value[]>
  readonly kinds: readonly Kind[]
  readonly context: Context
  /** By default, the rows are inserted or updated. */
  readonly kind?: WriteKind
}

/** The id and the version: the first columns of rows that are replaced or removed. */
const targetWidth = 2

/** How many rows one statement writes. On SQLite, nothing else runs while it does. */
const maxRows = 1000

/** In characters of all values of one statement, before its last row. */
const maxLength = 1_048_576

/** Splits rows into the parts that one statement each writes. */
function splitRows (rows: GivenValues['rows'], most: number): Array<GivenValues['rows']> {
  const parts: Array<GivenValues['rows']> = []
  let start = 0
  let length = 0
  for (const [index, row] of rows.entries()) {
    for (const value of row) length += typeof value === 'string' ? value.length : 0
    const end = index + 1
    if (end < rows.length && end - start < most && length < maxLength) continue
    parts.push(rows.slice(start, end))
    start = end
    length = 0
  }
  return parts
}

/** How many values the scope of a caller may have. A filter has fewer. */
const reservedValues = 4096

const givenName = 'given rows'

/** A name that no property has as its column, so that conditions on the table are not ambiguous. */
function getValueName (index: number): string {
  return `given value ${index}`
}

/** Undoes several statements if one of them fails. */
async function withSavepoint<Result> (session: Session, write: () => Promise<Result>): Promise<Result> {
  await session.execute('SAVEPOINT many')
  try {
    return await write()
  } catch (error) {
    await session.execute('ROLLBACK TO SAVEPOINT many')
    throw error
  } finally {
    await session.execute('RELEASE SAVEPOINT many')
  }
}
