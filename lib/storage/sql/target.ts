import type { Context, Id, Refusal, Version } from '../contract.ts'
import { Cache } from './cache.ts'
import { Conditions } from './condition.ts'
import type { Row, Value } from './dialect.ts'
import type { Layout } from './layout.ts'
import { equated, Parameters } from './parameters.ts'
import type { Reading } from './reading.ts'
import type { Session } from './session.ts'

const absent: Refusal = Object.freeze({ refused: 'not-found' })
const stale: Refusal = Object.freeze({ refused: 'stale' })

/** The row that a write is meant for. */
export interface Target {
  readonly id: Id
  readonly expected: Version | undefined
  readonly context: Context
}

/** The end of a statement, and what it binds from its beginning on. */
export interface Conditional {
  readonly where: string
  readonly values: Value[]
}

/** How a write finds its row, and no other, nor another version of it. */
export class Targets<Item extends object> {
  readonly #layout: Layout
  readonly #reading: Reading<Item>
  /** How often the id is bound: it is equal exactly where all expressions are. */
  readonly #times: number
  /** By the count of what is bound in front of it. */
  readonly #named: Cache<string, number>
  readonly #versioned: Cache<string, number>

  constructor (layout: Layout, reading: Reading<Item>) {
    const { dialect, id, own, version: { compare } } = layout
    const named = dialect.equatable(id.sql, id.kind, own)
    this.#layout = layout
    this.#reading = reading
    this.#times = named.length
    const versioned = compare === undefined ? named : [...named, compare.sql]
    this.#named = new Cache(100, (bound) => equated(dialect, named, bound))
    this.#versioned = new Cache(100, (bound) => equated(dialect, versioned, bound))
  }

  /** Whether the version expected is a digest, which only the row itself can be compared with. */
  isDigest ({ id, expected }: Target): boolean {
    return expected !== undefined && this.#layout.version.compare === undefined && this.#layout.id.codec.fits(id)
  }

  /** The conditions of a write, put behind values that are bound already: the compare is part of its statement. */
  conditional ({ id, expected, context }: Target, values: Value[], row: Row | undefined): Refusal | Conditional {
    const { dialect, version: { compare }, id: { codec } } = this.#layout
    if (!codec.fits(id)) return absent
    const bound = values.length
    for (let times = 0; times < this.#times; times++) values.push(codec.write(id))
    const isDigest = expected !== undefined && compare === undefined
    if (expected !== undefined && compare !== undefined) values.push(compare.bind(expected))
    const where = expected === undefined || isDigest ? this.#named.get(bound) : this.#versioned.get(bound)
    if (context.scope === undefined && !isDigest) return { where, values }
    const parameters = new Parameters(dialect, values)
    let unchanged = ''
    if (isDigest) {
      if (row === undefined) return absent
      if (this.#reading.full.version(row) !== expected) return stale
      unchanged = this.#unchanged(parameters, row)
    }
    return { where: where + unchanged + new Conditions(this.#layout, parameters).scope(context), values: parameters.values }
  }

  /** All columns must still be as they were read, and so must the version column, which is read behind them. */
  #unchanged (parameters: Parameters, row: Row): string {
    const { dialect, columns, version: { textual } } = this.#layout
    const compared = columns.map(({ sql }) => dialect.textual(sql))
    if (textual !== undefined) compared.push(textual)
    // What is selected as text, or as SQLite has it, is one of these.
    return compared.map((sql, index) => ` AND ${dialect.same(sql, parameters.bind(row[index] as string | number | null))}`).join('')
  }

  /** Why a write met no row. */
  async missed (session: Session, { id, expected, context }: Target): Promise<Refusal> {
    if (expected === undefined) return absent
    return await this.#reading.row(session, id, context) === undefined ? absent : stale
  }
}
