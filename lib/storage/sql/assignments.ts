import type { Id } from '../contract.ts'
import { Cache } from './cache.ts'
import type { Column } from './column.ts'
import type { Row, Value } from './dialect.ts'
import type { Layout } from './layout.ts'
import { nullsOf, valuesOf } from './rows.ts'
import type { Assignment } from './versioning.ts'

/** What is set, as a statement has it. */
interface Plan {
  readonly columns: readonly Column[]
  readonly text: string
}

export interface Assigned extends Plan {
  readonly values: readonly Value[]
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
    const { columns, text } = this.#inserts.get(key, () => {
      const columns = this.#written.filter((column) => (own && column !== id) || isPresent(column, item))
      const slots = this.#slots(columns, version.insert)
      const text = slots.length === 0
        ? dialect.emptyInsert
        : `(${slots.map(({ sql }) => sql).join(', ')}) VALUES (${slots.map(({ expression }) => expression).join(', ')})`
      return { columns, text }
    })
    return { text, columns, values: this.#values(columns, item, version.insert) }
  }

  /** The id stays: it is what the row is found by. */
  update (item: object): Assigned {
    const { id, own, version, dialect } = this.#layout
    const { columns, text } = this.#updates.get(own ? '' : this.#present(item), () => {
      const columns = this.#written.filter((column) => column !== id && (own || isPresent(column, item)))
      const slots = this.#slots(columns, version.update)
      const set = slots.map(({ sql, expression }) => `${sql} = ${expression}`)
      const unset = this.#written.filter((column) => column !== id && !columns.includes(column)).map(({ sql }) => `${sql} = ${dialect.unset}`)
      // SQL has no UPDATE that sets nothing.
      return { columns, text: [...set, ...unset].join(', ') || `${id.sql} = ${id.sql}` }
    })
    return { text, columns, values: this.#values(columns, item, version.update) }
  }

  /** The row as it would be read, for a database that cannot answer it. The key is that of a row whose id is not assigned. */
  row ({ columns, values }: Assigned, key: Id | undefined): Row {
    const { columns: all, id } = this.#layout
    const own = all.map((column) => {
      const at = columns.indexOf(column)
      return at >= 0 ? values[at] : column === id ? key : null
    })
    return [...own, ...values.slice(columns.length)]
  }

  /** Which members there are, as a key. */
  #present (item: object): string {
    return this.#written.map((column) => isPresent(column, item) ? '1' : '0').join('')
  }

  /** In the order of a row. */
  #slots (columns: readonly Column[], version: Assignment | undefined): Slot[] {
    const { dialect: { placeholder }, nulls } = this.#layout
    const slots = columns.map(({ sql }, index): Slot => ({ sql, expression: placeholder(index + 1) }))
    if (version !== undefined) slots.push({ sql: version.column, expression: 'sql' in version ? version.sql : placeholder(slots.length + 1) })
    // Only in a table of ours, where the version is bound.
    if (nulls !== undefined) slots.push({ sql: nulls, expression: placeholder(slots.length + 1) })
    return slots
  }

  #values (columns: readonly Column[], item: object, version: Assignment | undefined): Value[] {
    const values = valuesOf(columns, item)
    if (version !== undefined && 'value' in version) values.push(version.value())
    if (this.#layout.nulls !== undefined) values.push(nullsOf(columns, item))
    return values
  }
}

interface Slot {
  readonly sql: string
  readonly expression: string
}

function isPresent ({ member }: Column, item: object): boolean {
  // The item is of the shape, and its members are the shape's.
  return (item as Readonly<Record<string, unknown>>)[member] !== undefined
}
