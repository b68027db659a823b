import type { Context, Entry, Refusal, Replacement } from '../contract.ts'
import { Assignments, type BoundAssignments } from './assignments.ts'
import { ConditionBuilder } from './condition-builder.ts'
import type { ManyStatement, Value } from './dialect.ts'
import type { Kind } from './kind.ts'
import type { Layout } from './layout.ts'
import { Parameters } from './parameters.ts'
import type { Reader } from './reader.ts'
import { toRefusal } from './refusal.ts'
import type { Session } from './session.ts'

const stale: Refusal = Object.freeze({ refused: 'stale' })

/** Nothing is known about the value that cannot be stored. */
const unknownAssignments: BoundAssignments = { text: '', columns: [], values: [] }

/** A column that an UPDATE sets. */
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
  readonly #set: readonly SetColumn[]

  private constructor (layout: Layout, reader: Reader<Item>, version: string) {
    const { columns, id, nulls } = layout
    this.#layout = layout
    this.#reader = reader
    this.#assignments = new Assignments(layout)
    this.#version = version
    // In the order of the values of `Assignments`.
    this.#set = [
      ...columns.filter((column) => column !== id),
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

  async replace (
    session: Session,
    replacements: ReadonlyArray<Replacement<Item>>,
    context: Context
  ): Promise<ReadonlyArray<Entry<Item>> | Refusal> {
    const { dialect: { many, quote } } = this.#layout
    const written = replacements.map(({ before, item }) => ({ before, assigned: this.#assignments.buildUpdate(item) }))
    const rows = written.map(({ before, assigned }) => [...this.#toTarget(before), ...assigned.values])
    const set = this.#set.map(({ sql }, index) => [sql, quote(getValueName(index + 2))] as const)
    const kinds = this.#set.map(({ kind }) => kind)
    const refusal = await this.#write(session, { rows, kinds, context }, (statement) => many.update(statement, set))
    if (refusal !== undefined) return refusal
    // All values of the rows were bound.
    return written.map(({ before, assigned }) => this.#reader.toEntry(this.#assignments.toRow(assigned, before.id)))
  }

  remove (session: Session, entries: ReadonlyArray<Entry<Item>>, context: Context): Promise<Refusal | undefined> {
    const { dialect: { many } } = this.#layout
    const rows = entries.map((entry) => this.#toTarget(entry))
    return this.#write(session, { rows, kinds: [], context }, many.remove)
  }

  /** The values by which a row is found. */
  #toTarget ({ id, version }: Entry<Item>): Value[] {
    const { id: { codec } } = this.#layout
    return [codec.write(id), version]
  }

  async #write (
    session: Session,
    { rows, kinds, context }: GivenValues,
    build: (statement: ManyStatement) => string
  ): Promise<Refusal | undefined> {
    const { many } = this.#layout.dialect
    const width = kinds.length + 2
    // The scope has values as well.
    const length = Math.floor((many.maxValues - reservedValues) / width)
    try {
      for (let start = 0; start < rows.length; start += length) {
        const part = rows.slice(start, start + length)
        const count = await this.#writePart(session, { rows: part, kinds, context }, build)
        if (count !== part.length) return stale
      }
      return undefined
    } catch (error) {
      return toRefusal(this.#layout, { session, error, assigned: unknownAssignments })
    }
  }

  async #writePart (
    session: Session,
    { rows, kinds, context }: GivenValues,
    build: (statement: ManyStatement) => string
  ): Promise<number> {
    const { dialect, table, id } = this.#layout
    const parameters = new Parameters(dialect)
    const columns = [id.kind, 'text' as const, ...kinds].map((kind, index) => {
      return { name: dialect.quote(getValueName(index)), kind }
    })
    const text = build({
      given: { name: dialect.quote('given rows'), columns, rows, bind: (value) => parameters.bind(value) },
      table,
      id,
      version: this.#version,
      buildScope: () => new ConditionBuilder(this.#layout, parameters).buildScope(context)
    })
    const statement = { text, values: parameters.values, context, recurring: !dialect.many.isCounted }
    const { count } = await session.withSavepoint(context, () => session.write(statement))
    return count
  }
}

interface GivenValues {
  readonly rows: ReadonlyArray<readonly Value[]>
  /** Those of the columns after the id and the version. */
  readonly kinds: readonly Kind[]
  readonly context: Context
}

/** How many values the scope of a caller may have. A filter has fewer. */
const reservedValues = 4096

/** A name that no property has as its column, so that conditions on the table are not ambiguous. */
function getValueName (index: number): string {
  return `given value ${index}`
}
