import type { Context, Id, Refusal, Version } from '../contract.ts'
import { Cache } from './cache.ts'
import { Conditions } from './condition.ts'
import type { Dialect, Row, Value } from './dialect.ts'
import type { Layout } from './layout.ts'
import { equated, Parameters } from './parameters.ts'
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
  /** How often the id is bound: it is equal exactly where all expressions are. */
  readonly #times: number
  readonly #named: (bound: number) => string
  readonly #versioned: (bound: number) => string

  constructor (layout: Layout, reading: Reading<Item>) {
    const { dialect, id, own, version: { compare } } = layout
    const named = dialect.equatable(id.sql, id.kind, own)
    this.#layout = layout
    this.#reading = reading
    this.#times = named.length
    this.#named = placed(dialect, named)
    this.#versioned = placed(dialect, compare === undefined ? named : [...named, compare.sql])
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
    for (let times = 0; times < this.#times; times++) values.push(codec.write(id))
    const derived = expected !== undefined && compare === undefined
    if (expected !== undefined && compare !== undefined) values.push(compare.bind(expected))
    const where = expected === undefined || derived ? this.#named(set.length) : this.#versioned(set.length)
    if (context.scope === undefined && !derived) return { where, values }
    const parameters = new Parameters(dialect, values)
    let unchanged = ''
    if (derived) {
      if (row === undefined) return absent
      if (this.#reading.full.version(row) !== expected) return stale
      unchanged = this.#unchanged(parameters, row)
    }
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

/** The text by the count of what is bound in front of it: of the same parts the same text. */
function placed (dialect: Dialect, expressions: readonly string[]): (bound: number) => string {
  const texts = new Cache<string, number>(100)
  return (bound) => texts.get(bound, () => equated(dialect, expressions, bound))
}
