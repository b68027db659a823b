import type { Context, Id, Refusal, Version } from '../contract.ts'
import { Cache } from './cache.ts'
import { Conditions } from './condition.ts'
import type { Dialect, Row, Value } from './dialect.ts'
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
  /** What equals the id exactly where all of it does, and what equals its version after that. */
  readonly #named: readonly string[]
  readonly #versioned: readonly string[]
  // By the count of what is bound in front of it: of the same parts the same text.
  readonly #ofNamed = new Cache<string, number>(100)
  readonly #ofVersioned = new Cache<string, number>(100)

  constructor (layout: Layout, reading: Reading<Item>) {
    this.#layout = layout
    this.#reading = reading
    this.#named = layout.dialect.equatable(layout.id.sql, layout.id.kind, layout.own)
    this.#versioned = layout.version.compare === undefined ? this.#named : [...this.#named, layout.version.compare.sql]
  }

  /** Whether the row has to be read first, to compare its version. */
  derives ({ id, expected }: Target): boolean {
    return expected !== undefined && this.#layout.version.compare === undefined && this.#layout.id.codec.fits(id)
  }

  /** The conditions of a write, behind values that are bound already: the compare is part of its statement. */
  conditional ({ id, expected, context }: Target, set: readonly Value[], row: Row | undefined): Refusal | Conditional {
    const { dialect, version: { compare }, id: { codec } } = this.#layout
    if (!codec.fits(id)) return absent
    const values = [...set]
    for (let times = 0; times < this.#named.length; times++) values.push(codec.write(id))
    const compared = expected !== undefined && compare !== undefined
    if (compared) values.push(compare.bind(expected))
    const where = compared
      ? this.#ofVersioned.get(set.length, () => equal(dialect, this.#versioned, set.length))
      : this.#ofNamed.get(set.length, () => equal(dialect, this.#named, set.length))
    const derived = expected !== undefined && compare === undefined
    if (context.scope === undefined && !derived) return { where, values }
    if (derived && row === undefined) return absent
    if (derived && this.#reading.full.version(row!) !== expected) return stale
    const parameters = new Parameters(dialect, values)
    const unchanged = derived ? this.#unchanged(parameters, row!) : ''
    return { where: where + unchanged + new Conditions(this.#layout, parameters).scope(context), values: parameters.values }
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

function equal ({ placeholder }: Dialect, expressions: readonly string[], bound: number): string {
  return expressions.map((expression, index) => `${expression} = ${placeholder(bound + index + 1)}`).join(' AND ')
}
