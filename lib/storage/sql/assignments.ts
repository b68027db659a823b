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
  /** A condition may bind more, behind these. */
  readonly values: Value[]
}

/** What INSERT and UPDATE put into the columns. The texts are made of the schema alone. */
export class Assignments {
  readonly #layout: Layout
  readonly #written: readonly Column[]
  /** By the properties that there are. */
  readonly #inserts: Cache<Plan>
  readonly #updates: Cache<Plan>
  readonly #all: string
  readonly #allButId: string

  constructor (layout: Layout) {
    this.#layout = layout
    this.#written = layout.columns.filter(({ generated }) => !generated)
    this.#inserts = new Cache(100, (present) => this.#insert(present))
    this.#updates = new Cache(100, (present) => this.#update(present))
    this.#all = this.#key(() => true)
    this.#allButId = this.#key((column) => column !== layout.id)
  }

  /** In a table that exists, what is absent is left to the defaults of the database. */
  insert (item: object): Assigned {
    const { id, own, version } = this.#layout
    const whole = isPresent(id, item) ? this.#all : this.#allButId
    const { columns, text } = this.#inserts.get(own ? whole : this.#present(item))
    return { text, columns, values: this.#values(columns, item, version.insert) }
  }

  #insert (present: string): Plan {
    const columns = this.#written.filter((_, at) => present[at] === '1')
    const slots = this.#slots(columns, this.#layout.version.insert)
    const text = slots.length === 0
      ? this.#layout.dialect.emptyInsert
      : `(${slots.map(({ sql }) => sql).join(', ')}) VALUES (${slots.map(({ expression }) => expression).join(', ')})`
    return { columns, text }
  }

  /** The id stays: it is what the row is found by. */
  update (item: object): Assigned {
    const { own, version } = this.#layout
    const { columns, text } = this.#updates.get(own ? this.#allButId : this.#present(item))
    return { text, columns, values: this.#values(columns, item, version.update) }
  }

  #update (present: string): Plan {
    const { id, version, dialect } = this.#layout
    const columns = this.#written.filter((column, at) => column !== id && present[at] === '1')
    const set = this.#slots(columns, version.update).map(({ sql, expression }) => `${sql} = ${expression}`)
    const unset = this.#written.filter((column) => column !== id && !columns.includes(column)).map(({ sql }) => `${sql} = ${dialect.unset}`)
    // SQL has no UPDATE that sets nothing.
    return { columns, text: [...set, ...unset].join(', ') || `${id.sql} = ${id.sql}` }
  }

  /** The row as it would be read, for a database that cannot answer it; what a condition has bound stands behind all that is read. The key is that of a row whose id is not assigned. */
  row ({ columns, values }: Assigned, key: Id | undefined): Row {
    const { columns: all, id } = this.#layout
    const own = all.map((column) => {
      const at = columns.indexOf(column)
      return at >= 0 ? values[at] : column === id ? key : null
    })
    return [...own, ...values.slice(columns.length)]
  }

  #present (item: object): string {
    return this.#key((column) => isPresent(column, item))
  }

  /** Which properties there are: a digit for each column. */
  #key (isThere: (column: Column) => boolean): string {
    return this.#written.map((column) => isThere(column) ? '1' : '0').join('')
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

function isPresent ({ property }: Column, item: object): boolean {
  // The item is of the shape, and its properties are the shape's.
  return (item as Readonly<Record<string, unknown>>)[property] !== undefined
}
