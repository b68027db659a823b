import { Cache } from './cache.ts'
import type { Column } from './column.ts'
import type { Row, Value } from './dialect.ts'
import type { Layout } from './layout.ts'
import { nullsOf, valuesOf } from './rows.ts'
import { alias as versionAlias, type Assignment } from './versioning.ts'

export interface Assigned {
  readonly text: string
  readonly values: readonly Value[]
  /** The values as a row that was read, for a database that cannot answer it. */
  readonly row: () => Row
}

interface Plan {
  readonly columns: readonly Column[]
  readonly text: string
  /** What each value is called in a row. */
  readonly names: readonly string[]
}

/** What INSERT and UPDATE put into the columns. The texts are made of the schema alone. */
export class Assignments {
  readonly #layout: Layout
  readonly #written: readonly Column[]
  readonly #inserts = new Cache<Plan>(100)
  readonly #updates = new Cache<Plan>(100)

  constructor (layout: Layout) {
    this.#layout = layout
    this.#written = layout.columns.filter(({ generated }) => !generated)
  }

  /** In a table that exists, what is absent is left to the defaults of the database. */
  insert (item: object): Assigned {
    const { id, own, version, dialect } = this.#layout
    const key = own ? String(isPresent(id, item)) : this.#present(item)
    const { columns, text, names } = this.#inserts.get(key, () => {
      const columns = this.#written.filter((column) => (own && column !== id) || isPresent(column, item))
      const slots = this.#slots(columns, version.insert)
      const text = slots.length === 0
        ? dialect.emptyInsert
        : `(${slots.map(({ sql }) => sql).join(', ')}) VALUES (${slots.map(({ expression }) => expression).join(', ')})`
      return { columns, text, names: bound(slots) }
    })
    return assigned(text, names, this.#values(columns, item, version.insert))
  }

  /** The id stays: it is what the row is found by. */
  update (item: object): Assigned {
    const { id, own, version, dialect } = this.#layout
    const { columns, text, names } = this.#updates.get(own ? '' : this.#present(item), () => {
      const columns = this.#written.filter((column) => column !== id && (own || isPresent(column, item)))
      const slots = this.#slots(columns, version.update)
      const set = slots.map(({ sql, expression }) => `${sql} = ${expression}`)
      const unset = this.#written.filter((column) => column !== id && !columns.includes(column)).map(({ sql }) => `${sql} = ${dialect.unset}`)
      // SQL has no UPDATE that sets nothing.
      return { columns, text: [...set, ...unset].join(', ') || `${id.sql} = ${id.sql}`, names: bound(slots) }
    })
    return assigned(text, names, this.#values(columns, item, version.update))
  }

  /** Which members there are, as a key. */
  #present (item: object): string {
    return this.#written.map((column) => isPresent(column, item) ? '1' : '0').join('')
  }

  #slots (columns: readonly Column[], version: Assignment | undefined): Slot[] {
    const { dialect: { placeholder }, nulls } = this.#layout
    const slots: Slot[] = [...columns, ...nulls === undefined ? [] : [nulls]]
      .map(({ sql, alias }, index) => ({ sql, alias, expression: placeholder(index + 1) }))
    if (version === undefined) return slots
    const last = 'sql' in version ? { expression: version.sql } : { alias: versionAlias, expression: placeholder(slots.length + 1) }
    return [...slots, { sql: version.column, ...last }]
  }

  #values (columns: readonly Column[], item: object, version: Assignment | undefined): Value[] {
    const values = valuesOf(columns, item)
    if (this.#layout.nulls !== undefined) values.push(nullsOf(columns, item))
    if (version !== undefined && 'value' in version) values.push(version.value())
    return values
  }
}

interface Slot {
  readonly sql: string
  /** What it is called in a row; only where a value is bound. */
  readonly alias?: string
  readonly expression: string
}

function bound (slots: readonly Slot[]): string[] {
  return slots.flatMap(({ alias }) => alias ?? [])
}

function assigned (text: string, names: readonly string[], values: readonly Value[]): Assigned {
  return { text, values, row: () => Object.fromEntries(names.map((name, index) => [name, values[index]])) }
}

function isPresent ({ member }: Column, item: object): boolean {
  // The item is of the shape, and its members are the shape's.
  return (item as Readonly<Record<string, unknown>>)[member] !== undefined
}
