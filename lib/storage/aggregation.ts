import type {
  AggregateQuery,
  Aggregates,
  DatePart,
  Figure,
  Inexact,
  JsonSchema,
  Scalar,
  TooManyGroups
} from './contract.ts'
import { compareValues } from './memory/order.ts'
import { getKind } from './sql/kind.ts'

// Groups and figures of rows that were read. Databases compute them by themselves.

/** How many characters of a date-time in UTC each part has. */
export const partLengths: Readonly<Record<DatePart, number>> = { year: 4, month: 7, day: 10, hour: 13 }

/** A sum, or an integer that another writer has stored, that a double cannot represent. */
export class InexactNumber extends Error implements Inexact {
  readonly inexact = true

  constructor (property: string) {
    super(`A double cannot represent a value or the sum of ${property}`)
    this.name = 'InexactNumber'
  }
}

/** Returns the sum of integers, if a double can represent it. */
export function toExactSum (sum: bigint, property: string): number {
  const number = Number(sum)
  if (Number.isSafeInteger(number)) return number
  throw new InexactNumber(property)
}

type Value = Scalar | null

/**
 * How many values the groups of one aggregate have while they are computed: what each group is grouped by, its figures,
 * and the different values that are counted. A text counts once more for every 100 characters. This many take about
 * 20 MB, and block the process for a few tenths of a second.
 */
const maxGroupValues = 100_000

const charactersPerValue = 100

/** More values than the process computes at once. */
class TooManyGroupValues extends Error implements TooManyGroups {
  readonly tooManyGroups = true
  readonly maximum = maxGroupValues

  constructor () {
    super(`The groups have more than ${maxGroupValues} values`)
    this.name = 'TooManyGroupValues'
  }
}

/** Counts the values that are held, so that there are not too many. */
class HeldValues {
  #size = 0

  add (value: Value): void {
    this.#grow(getSize(value))
  }

  replace (held: Value, value: Value): void {
    this.#grow(getSize(value) - getSize(held))
  }

  #grow (size: number): void {
    this.#size += size
    if (this.#size > maxGroupValues) throw new TooManyGroupValues()
  }
}

function getSize (value: Value): number {
  return typeof value === 'string' ? 1 + Math.floor(value.length / charactersPerValue) : 1
}

/** Adds up the values of one figure. */
interface Accumulator {
  add (value: Value): void
  getResult (): Value
}

/** Returns the schema of a property, which may be nested. */
export function getPropertySchema (schema: JsonSchema, path: string): JsonSchema {
  const names = path.split('.')
  return names.reduce<JsonSchema | undefined>((outer, name) => outer?.properties?.[name], schema) ?? {}
}

/** Whether all values of the property are integers, whose sums are exact. */
export function isInteger (schema: JsonSchema, path: string): boolean {
  return getKind(getPropertySchema(schema, path)).kind === 'integer'
}

/** Adds integers exactly, and other numbers as doubles. */
class Sum {
  readonly #property: string
  #exact: bigint | undefined
  #double = 0
  count = 0

  constructor (property: string, isExact: boolean) {
    this.#property = property
    this.#exact = isExact ? 0n : undefined
  }

  add (value: Value): void {
    if (typeof value !== 'number') return
    this.count++
    if (this.#exact === undefined) this.#double += value
    else this.#exact += BigInt(value)
  }

  getTotal (): number | null {
    if (this.count === 0) return null
    return this.#exact === undefined ? this.#double : toExactSum(this.#exact, this.#property)
  }
}

interface FigureSource {
  readonly property: string
  readonly isExact: boolean
  readonly held: HeldValues
}

const accumulators: Readonly<Record<Figure['figure'], (source: FigureSource) => Accumulator>> = {
  count () {
    let count = 0
    return { add: () => { count++ }, getResult: () => count }
  },
  distinct ({ held }) {
    const values = new Set<Value>()
    return {
      add (value) {
        if (value === null || values.has(value)) return
        held.add(value)
        values.add(value)
      },
      getResult: () => values.size
    }
  },
  sum ({ property, isExact }) {
    const sum = new Sum(property, isExact)
    return { add: (value) => sum.add(value), getResult: () => sum.getTotal() }
  },
  avg ({ property, isExact }) {
    const sum = new Sum(property, isExact)
    return {
      add: (value) => sum.add(value),
      getResult () {
        const total = sum.getTotal()
        return total === null ? null : total / sum.count
      }
    }
  },
  min: ({ held }) => createExtreme(-1, held),
  max: ({ held }) => createExtreme(1, held)
}

function createExtreme (sign: 1 | -1, held: HeldValues): Accumulator {
  let extreme: Value = null
  return {
    add (value) {
      if (value === null || (extreme !== null && compareValues(value, extreme) * sign <= 0)) return
      held.replace(extreme, value)
      extreme = value
    },
    getResult: () => extreme
  }
}

interface Group {
  readonly by: readonly Value[]
  readonly figures: readonly Accumulator[]
}

/**
 * Groups rows. A row has the values of the properties of `by`, then those of `figures`; null for a count. Throws as
 * soon as the groups have too many values.
 */
export class Aggregation {
  readonly #query: AggregateQuery
  readonly #createFigures: ReadonlyArray<() => Accumulator>
  readonly #groups = new Map<string, Group>()
  readonly #held = new HeldValues()

  constructor (query: AggregateQuery, schema: JsonSchema) {
    this.#query = query
    this.#createFigures = query.figures.map((figure) => {
      const property = 'property' in figure ? figure.property : ''
      const isExact = isInteger(schema, property)
      return () => accumulators[figure.figure]({ property, isExact, held: this.#held })
    })
    if (query.by.length === 0) this.#addGroup('', [])
  }

  add (row: readonly Value[]): void {
    const { by } = this.#query
    const values = by.map(({ part }, index) => takePart(row[index] ?? null, part))
    const key = by.length === 0 ? '' : JSON.stringify(values)
    const group = this.#groups.get(key) ?? this.#addGroup(key, values)
    for (const [index, figure] of group.figures.entries()) figure.add(row[by.length + index] ?? null)
  }

  #addGroup (key: string, by: readonly Value[]): Group {
    for (const value of by) this.#held.add(value)
    const figures = this.#createFigures.map((create) => {
      this.#held.add(null)
      return create()
    })
    const group = { by, figures }
    this.#groups.set(key, group)
    return group
  }

  getResult (): Aggregates {
    const { order, limit } = this.#query
    const groups = [...this.#groups.values()].map(({ by, figures }) => {
      return { by, figures: figures.map((figure) => figure.getResult()) }
    })
    const rows = groups.map((group) => ({ group, values: [...group.by, ...group.figures] }))
    rows.sort((a, b) => {
      for (const { at, descending } of order) {
        const difference = compareValues(a.values[at], b.values[at])
        if (difference !== 0) return descending ? -difference : difference
      }
      return 0
    })
    return { groups: rows.slice(0, limit).map(({ group }) => group), more: rows.length > limit }
  }
}

function takePart (value: Value, part: DatePart | undefined): Value {
  return part === undefined || typeof value !== 'string' ? value : value.slice(0, partLengths[part])
}
