import type { Context, Id, Refusal, Version } from '../contract.ts'
import { Cache } from './cache.ts'
import { ConditionBuilder } from './condition-builder.ts'
import type { Row, Value } from './dialect.ts'
import type { Layout } from './layout.ts'
import { buildEquality, Parameters } from './parameters.ts'
import type { Reader } from './reader.ts'
import type { Session } from './session.ts'

const notFound: Refusal = Object.freeze({ refused: 'not-found' })
const stale: Refusal = Object.freeze({ refused: 'stale' })

/** The row to write. */
export interface Target {
  readonly id: Id
  readonly expected: Version | undefined
  readonly context: Context
}

/** The end of a statement, and all values that the statement binds. */
export interface WhereClause {
  readonly where: string
  readonly values: Value[]
}

/** Builds the conditions with which a write finds only its row, in the expected version. */
export class TargetConditions<Item extends object> {
  readonly #layout: Layout
  readonly #reader: Reader<Item>
  /** How often the id is bound: once for each expression that tests its equality. */
  readonly #idParameters: number
  /** By the number of values that are bound before. */
  readonly #byId: Cache<string, number>
  readonly #byIdAndVersion: Cache<string, number>

  constructor (layout: Layout, reader: Reader<Item>) {
    const { dialect, id, managed, version: { compare } } = layout
    const byId = dialect.equatable(id.sql, id.kind, managed)
    this.#layout = layout
    this.#reader = reader
    this.#idParameters = byId.length
    this.#byId = new Cache(100, (bound) => buildEquality(dialect, byId, bound))
    this.#byIdAndVersion = new Cache(100, (bound) => {
      const equality = buildEquality(dialect, byId, bound)
      return compare === undefined
        ? equality
        : `${equality} AND ${compare.sql} = ${dialect.placeholder(bound + byId.length + 1)}`
    })
  }

  /** Whether the expected version is a digest, which has to be compared with the row itself. */
  needsRow ({ id, expected }: Target): boolean {
    const { version, id: { codec } } = this.#layout
    return expected !== undefined && version.compare === undefined && codec.canBind(id)
  }

  /** Appends the conditions to values that are bound already: the statement itself compares the version. */
  build ({ id, expected, context }: Target, values: Value[], row: Row | undefined): Refusal | WhereClause {
    const { dialect, version: { compare }, id: { codec } } = this.#layout
    if (!codec.canBind(id)) return notFound
    const bound = values.length
    for (let count = 0; count < this.#idParameters; count++) values.push(codec.write(id))
    const isDigest = expected !== undefined && compare === undefined
    if (expected !== undefined && compare !== undefined) values.push(compare.bind(expected))
    const where = expected === undefined || isDigest ? this.#byId.get(bound) : this.#byIdAndVersion.get(bound)
    if (context.scope === undefined && !isDigest) return { where, values }
    const parameters = new Parameters(dialect, values)
    let unchanged = ''
    if (isDigest) {
      if (row === undefined) return notFound
      if (this.#reader.projection.readVersion(row) !== expected) return stale
      unchanged = this.#buildUnchanged(parameters, row)
    }
    const scope = new ConditionBuilder(this.#layout, parameters).buildScope(context)
    return { where: where + unchanged + scope, values: parameters.values }
  }

  /** All columns must still be as they were read, and so must the version column, which is read after them. */
  #buildUnchanged (parameters: Parameters, row: Row): string {
    const { dialect, columns, version: { columnText } } = this.#layout
    const compared = columns.map(({ sql }) => dialect.castToText(sql))
    if (columnText !== undefined) compared.push(columnText)
    return compared
      .map((sql, index) => {
        // The columns are selected as text, or in SQLite as they are.
        const value = row[index] as string | number | null
        return ` AND ${dialect.isSame(sql, parameters.bind(value))}`
      })
      .join('')
  }

  /** Explains why a write found no row. */
  async explainMiss (session: Session, { id, expected, context }: Target): Promise<Refusal> {
    if (expected === undefined) return notFound
    return await this.#reader.findRow(session, id, context) === undefined ? notFound : stale
  }
}
