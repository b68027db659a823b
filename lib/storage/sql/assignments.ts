import type { Id } from '../contract.ts'
import { Cache } from './cache.ts'
import type { Column } from './column.ts'
import type { Row, Value } from './dialect.ts'
import type { Layout } from './layout.ts'
import { toNulls, toValues } from './projection.ts'
import type { VersionAssignment } from './versioning.ts'

/** The columns that a statement sets, and its text. */
interface AssignmentPlan {
  readonly columns: readonly Column[]
  readonly text: string
}

export interface BoundAssignments extends AssignmentPlan {
  /** A condition may append more. */
  readonly values: Value[]
}

/** Builds what INSERT and UPDATE assign to the columns. The texts depend only on the schema. */
export class Assignments {
  readonly #layout: Layout
  readonly #writable: readonly Column[]
  /** By the key of the present properties. */
  readonly #inserts: Cache<AssignmentPlan>
  readonly #updates: Cache<AssignmentPlan>
  readonly #all: string
  readonly #allButId: string

  constructor (layout: Layout) {
    this.#layout = layout
    this.#writable = layout.columns.filter(({ generated }) => !generated)
    this.#inserts = new Cache(100, (present) => this.#planInsert(present))
    this.#updates = new Cache(100, (present) => this.#planUpdate(present))
    this.#all = this.#buildKey(() => true)
    this.#allButId = this.#buildKey((column) => column !== layout.id)
  }

  /** In an existing table, the database sets missing properties to its defaults. */
  buildInsert (item: object): BoundAssignments {
    const { id, managed, version } = this.#layout
    const whole = isPresent(id, item) ? this.#all : this.#allButId
    const { columns, text } = this.#inserts.get(managed ? whole : this.#buildPresentKey(item))
    return { text, columns, values: this.#bind(columns, item, version.insert) }
  }

  #planInsert (present: string): AssignmentPlan {
    const columns = this.#writable.filter((_, index) => present[index] === '1')
    const assignments = this.#assign(columns, this.#layout.version.insert)
    if (assignments.length === 0) return { columns, text: this.#layout.dialect.emptyInsert }
    const names = assignments.map(({ sql }) => sql).join(', ')
    const expressions = assignments.map(({ expression }) => expression).join(', ')
    return { columns, text: `(${names}) VALUES (${expressions})` }
  }

  /** Does not set the id, by which the row is found. */
  buildUpdate (item: object): BoundAssignments {
    const { managed, version } = this.#layout
    const { columns, text } = this.#updates.get(managed ? this.#allButId : this.#buildPresentKey(item))
    return { text, columns, values: this.#bind(columns, item, version.update) }
  }

  #planUpdate (present: string): AssignmentPlan {
    const { id, version, dialect } = this.#layout
    const columns = this.#writable.filter((column, index) => column !== id && present[index] === '1')
    const set = this.#assign(columns, version.update).map(({ sql, expression }) => `${sql} = ${expression}`)
    const unset = this.#writable
      .filter((column) => column !== id && !columns.includes(column))
      .map(({ sql }) => `${sql} = ${dialect.unset}`)
    // SQL has no UPDATE that sets nothing.
    return { columns, text: [...set, ...unset].join(', ') || `${id.sql} = ${id.sql}` }
  }

  /**
   * Returns the row as it would be read, for a database that cannot return it. `key` is the id if it is not assigned.
   * Values that a condition has bound follow after all that is read.
   */
  toRow ({ columns, values }: BoundAssignments, key: Id | undefined): Row {
    const { columns: all, id } = this.#layout
    const row = all.map((column) => {
      const index = columns.indexOf(column)
      if (index >= 0) return values[index]
      return column === id ? key : null
    })
    return [...row, ...values.slice(columns.length)]
  }

  #buildPresentKey (item: object): string {
    return this.#buildKey((column) => isPresent(column, item))
  }

  /** A digit for each column: 1 if its property is present. */
  #buildKey (isIncluded: (column: Column) => boolean): string {
    return this.#writable.map((column) => isIncluded(column) ? '1' : '0').join('')
  }

  /** In the order of a row. */
  #assign (columns: readonly Column[], version: VersionAssignment | undefined): ColumnAssignment[] {
    const { dialect: { placeholder }, nulls } = this.#layout
    const assignments = columns.map(({ sql }, index): ColumnAssignment => ({
      sql,
      expression: placeholder(index + 1)
    }))
    if (version !== undefined) {
      const expression = 'sql' in version ? version.sql : placeholder(assignments.length + 1)
      assignments.push({ sql: version.column, expression })
    }
    // Only in a managed table, in which the version is bound.
    if (nulls !== undefined) assignments.push({ sql: nulls, expression: placeholder(assignments.length + 1) })
    return assignments
  }

  #bind (columns: readonly Column[], item: object, version: VersionAssignment | undefined): Value[] {
    const values = toValues(columns, item)
    if (version !== undefined && 'value' in version) values.push(version.value())
    if (this.#layout.nulls !== undefined) values.push(toNulls(columns, item))
    return values
  }
}

interface ColumnAssignment {
  readonly sql: string
  readonly expression: string
}

function isPresent ({ property }: Column, item: object): boolean {
  // The item matches the schema, whose properties are the columns.
  return (item as Readonly<Record<string, unknown>>)[property] !== undefined
}
