import type { Problem } from '../http/problems.ts'
import type { Inclusion } from './list-query.ts'
import type { Lists } from './lists.ts'
import type { QueryableProperty } from './queryable.ts'
import type { Expansion } from './tree.ts'
import type { Filter, RelatedRows } from '../storage/contract.ts'

// What names mean to a caller. Those of related items are followed when a query has them: nothing is copied.

/** The relations that a query names, as the caller sees them. */
export interface ListedRelations {
  /** All relations that the caller sees. */
  readonly names: readonly string[]
  /** Those that the query names. */
  readonly opened: ReadonlyMap<string, ListedRelation>
  /** Resolves what is to be included. `count` is how many items the response has at most. */
  resolveExpansion (expansion: Expansion, count: number): readonly Inclusion[] | Problem
}

/** A relation, as the caller sees it. */
export interface ListedRelation {
  readonly relation: {
    readonly name: string
    readonly isMany: boolean
    readonly property: string
    readonly limit: number | undefined
    readonly canFilter: boolean
    readonly canSort: boolean
  }
  /** How the caller can query the related items; undefined if it may not read them. */
  readonly lists: Lists | undefined
  /** Returns the related rows that the caller can read, and that match. */
  toRows (filter: Filter | undefined): RelatedRows
}

/** A relation whose items the caller can read. */
export interface ReadableRelation extends ListedRelation {
  readonly lists: Lists
}

/** Names, and what they mean. */
export interface Names {
  get (name: string): QueryableProperty | undefined
  keys (): Iterable<string>
}

function isReadable (related: ListedRelation | undefined): related is ReadableRelation {
  return related?.lists !== undefined
}

/** Returns a relation that the caller can filter by. */
export function findFilterRelation ({ relations }: Lists, name: string): ReadableRelation | undefined {
  const related = relations?.opened.get(name)
  return isReadable(related) && related.relation.canFilter ? related : undefined
}

/** Returns a relation whose properties the caller can sort by. */
export function findSortRelation ({ relations }: Lists, name: string): ReadableRelation | undefined {
  const related = relations?.opened.get(name)
  return isReadable(related) && related.relation.canSort ? related : undefined
}

/** The number of related items, as a property. */
export function toCount (relation: string): QueryableProperty {
  return {
    property: `${relation}.count`,
    type: 'integer',
    schema: { type: 'integer', minimum: 0, description: `How many ${relation} there are` },
    isArray: false,
    ordered: true,
    isNeverNull: true
  }
}

/** Splits a name at its first dot. */
export function splitName (name: string): readonly [string, string] {
  const dot = name.indexOf('.')
  return dot < 0 ? [name, ''] : [name.slice(0, dot), name.slice(dot + 1)]
}

/** Returns what lists can be filtered by. */
export function getFilterable (lists: Lists): Names {
  const { filterable, relations } = lists
  if (relations === undefined) return filterable
  return {
    get (name) {
      const [relation, rest] = splitName(name)
      const related = findFilterRelation(lists, relation)
      if (related === undefined) return filterable.get(name)
      if (related.relation.isMany && rest === 'count') return toCount(relation)
      const [quantifier, ofMany] = splitName(rest)
      if (related.relation.isMany && quantifier !== 'some' && quantifier !== 'none') return undefined
      const found = getFilterable(related.lists).get(related.relation.isMany ? ofMany : rest)
      return found && { ...found, property: name, isRelated: true }
    },
    * keys () {
      yield * filterable.keys()
      for (const name of relations.opened.keys()) {
        const related = findFilterRelation(lists, name)
        if (related === undefined) continue
        const { isMany } = related.relation
        for (const prefix of isMany ? [`${name}.some`, `${name}.none`] : [name]) {
          for (const inner of getFilterable(related.lists).keys()) yield `${prefix}.${inner}`
        }
        if (isMany) yield `${name}.count`
      }
    }
  }
}

/** Returns what lists can be sorted by. Of related items, these are their own properties. */
export function getSortable (lists: Lists): Names {
  const { sortable, relations } = lists
  if (relations === undefined) return sortable
  return {
    get (name) {
      const [relation, rest] = splitName(name)
      const found = findSortRelation(lists, relation)?.lists.sortable.get(rest)
      return found === undefined ? sortable.get(name) : { ...found, property: name, isRelated: true }
    },
    * keys () {
      yield * sortable.keys()
      for (const name of relations.opened.keys()) {
        for (const inner of findSortRelation(lists, name)?.lists.sortable.keys() ?? []) yield `${name}.${inner}`
      }
    }
  }
}

/** Returns the names of the query parameters. Properties of related items may be all that a list can be sorted by. */
export function getParameterNames (lists: Lists): ReadonlySet<string> {
  const { parameters, relations } = lists
  if (relations === undefined || parameters.has('sort')) return parameters
  const [first] = getSortable(lists).keys()
  return first === undefined ? parameters : new Set([...parameters, 'sort'])
}
