import type { Id, RelatedCondition, RelatedRows, Storage } from '../contract.ts'
import { compileFilter, type Predicate } from './filter.ts'
import { createReader } from './property.ts'
import type { Rows } from './table.ts'

/** Finds the rows of another storage, as they are in the same transaction. */
export type FindRows = (storage: Storage<object>) => Rows<object>

/** Reads rows of other storages for the filters and orders of one query. */
export class RelatedReader {
  readonly #findRows: FindRows

  constructor (findRows: FindRows) {
    this.#findRows = findRows
  }

  readonly compileCondition = ({ related, count }: RelatedCondition): Predicate => {
    const test = compileCount(count)
    const { shape } = this.#findRows(related.storage)
    if (related.equals === shape.id.property) {
      const find = this.createReader(related)
      return (item) => test(find(item) === undefined ? 0 : 1)
    }
    const read = createReader(related.property)
    // The rows are counted once for all items.
    let counts: ReadonlyMap<unknown, number> | undefined
    return (item) => {
      counts ??= this.#countByValue(related)
      return test(counts.get(read(item)) ?? 0)
    }
  }

  /** Creates a function that finds the related item by its id. */
  readonly createReader = ({ storage, property, filter }: RelatedRows): (item: object) => object | undefined => {
    const rows = this.#findRows(storage)
    const read = createReader(property)
    const matches = this.#compile(filter)
    return (item) => {
      // No row has another value as its id.
      const entry = rows.get(read(item) as Id)
      return entry === undefined || !matches(entry.item) ? undefined : entry.item
    }
  }

  #compile (filter: RelatedRows['filter']): Predicate {
    return filter === undefined ? () => true : compileFilter(filter, this.compileCondition)
  }

  #countByValue ({ storage, equals, filter }: RelatedRows): ReadonlyMap<unknown, number> {
    const rows = this.#findRows(storage)
    const read = createReader(equals)
    const matches = this.#compile(filter)
    const counts = new Map<unknown, number>()
    const order = [{ property: rows.shape.id.property, descending: false }]
    rows.walk({ order, from: undefined, backward: false }, ({ item }) => {
      const value = read(item)
      if (value !== null && matches(item)) counts.set(value, (counts.get(value) ?? 0) + 1)
      return true
    })
    return counts
  }
}

function compileCount (count: RelatedCondition['count']): (found: number) => boolean {
  const value = count?.value ?? 1
  switch (count?.is ?? 'gte') {
    case 'eq': return (found) => found === value
    case 'ne': return (found) => found !== value
    case 'lt': return (found) => found < value
    case 'lte': return (found) => found <= value
    case 'gt': return (found) => found > value
    case 'gte': return (found) => found >= value
  }
}
