import type { Context, Id, Refusal, Version } from '../contract.ts'
import { Conditions } from './condition.ts'
import type { Row, Value } from './dialect.ts'
import type { Layout } from './layout.ts'
import { Parameters } from './parameters.ts'
import type { Reading } from './reading.ts'
import type { Session } from './session.ts'

const absent: Refusal = Object.freeze({ refused: 'absent' })
const stale: Refusal = Object.freeze({ refused: 'stale' })

/** The row that a write is meant for. */
export interface Target {
  readonly id: Id
  readonly expected: Version | undefined
  readonly context: Context
}

/** The end of a statement, and what it binds from its beginning on. */
interface Conditional {
  readonly where: string
  readonly values: readonly Value[]
}

/** How a write finds its row, and no other, nor another version of it. */
export class Targets<Item extends object> {
  readonly #layout: Layout
  readonly #reading: Reading<Item>
  /** Equal exactly where all are. */
  readonly #id: readonly string[]

  constructor (layout: Layout, reading: Reading<Item>) {
    this.#layout = layout
    this.#reading = reading
    this.#id = layout.dialect.equatable(layout.id.sql, layout.id.kind, layout.own)
  }

  /** Whether the row has to be read first, to compare its version. */
  derives ({ id, expected }: Target): boolean {
    return expected !== undefined && this.#layout.version.compare === undefined && this.#layout.id.codec.fits(id)
  }

  /** The conditions of a write, behind values that are bound already: the compare is part of its statement. */
  conditional ({ id, expected, context }: Target, values: readonly Value[], row: Row | undefined): Refusal | Conditional {
    const { version: { compare }, id: { codec } } = this.#layout
    if (!codec.fits(id)) return absent
    const parameters = new Parameters(this.#layout.dialect, values)
    const value = codec.write(id)
    let where = this.#id.map((expression) => `${expression} = ${parameters.bind(value)}`).join(' AND ')
    if (expected !== undefined && compare !== undefined) {
      where += ` AND ${compare.sql} = ${parameters.bind(compare.bind(expected))}`
    } else if (expected !== undefined) {
      if (row === undefined) return absent
      if (this.#reading.full.version(row) !== expected) return stale
      where += this.#unchanged(parameters, row)
    }
    return { where: where + new Conditions(this.#layout, parameters).scope(context), values: parameters.values }
  }

  /** Where the version is derived, all columns must still be as they were read. */
  #unchanged (parameters: Parameters, row: Row): string {
    return this.#layout.columns.map(({ sql }, index) => {
      // What is selected as text, or as SQLite has it, is one of these.
      const value = row[index] as string | number | null
      return ` AND ${this.#layout.dialect.same(this.#layout.dialect.textual(sql), parameters.bind(value))}`
    }).join('')
  }

  /** Why a write met no row. */
  async missed (session: Session, { id, expected, context }: Target): Promise<Refusal> {
    if (expected === undefined) return absent
    return await this.#reading.row(session, id, context) === undefined ? absent : stale
  }
}
