import { combineFilters } from '../query/list-query.ts'
import type { ListFilter, RelationFilter } from '../query/list-query.ts'
import type { ListedRelations, Lists } from '../query/lists.ts'
import type { QueryParameter } from '../query/query-parameter.ts'
import type { QueryableProperty } from '../query/queryable.ts'
import { toBaseRows } from '../storage/related.ts'
import { joinFilters } from '../storage/filter.ts'
import type { Condition, Filter, Order, Query, RelatedRows } from '../storage/contract.ts'
import type { CallerRelation, CallerRelations } from './caller-relations.ts'

type Opened = CallerRelations['opened']

type QueryableProperties = ReadonlyMap<string, QueryableProperty>

/** Returns the lists of a collection with the properties of related items, as far as the caller can read them. */
export function extendLists (lists: Lists, { opened }: CallerRelations): Lists {
  const relations = new RelationQueries(opened)
  if (opened.size === 0) return { ...lists, relations }
  const filterable = new Map(lists.filterable)
  const sortable = new Map(lists.sortable)
  const known = new Map(lists.known)
  for (const [name, { relation, reading }] of opened) {
    if (reading === undefined) continue
    const { filterable: ofTarget, sortable: sortedTarget } = reading.lists
    if (relation.canFilter) {
      for (const prefix of relation.isMany ? [`${name}.some`, `${name}.none`] : [name]) {
        addProperties(filterable, prefix, ofTarget)
      }
      if (relation.isMany) filterable.set(`${name}.count`, toCount(name))
    }
    if (relation.canSort) {
      const own = new Map([...sortedTarget].filter(([property]) => !isRelated(reading.lists, property)))
      addProperties(sortable, name, own)
      addProperties(known, name, own)
    }
  }
  const parameters = sortable.size > 0 ? new Set([...lists.parameters, 'sort']) : lists.parameters
  return {
    ...lists,
    filterable,
    sortable,
    known,
    parameters,
    relations
  }
}

function isRelated ({ relations }: Lists, property: string): boolean {
  return relations?.get(property.split('.', 1)[0]!) !== undefined
}

function addProperties (to: Map<string, QueryableProperty>, prefix: string, from: QueryableProperties): void {
  for (const [name, queryable] of from) {
    const property = `${prefix}.${name}`
    to.set(property, { ...queryable, property, isRelated: true })
  }
}

function toCount (name: string): QueryableProperty {
  return {
    property: `${name}.count`,
    type: 'integer',
    schema: { type: 'integer', minimum: 0, description: `How many ${name} there are` },
    isArray: false,
    ordered: true,
    isNeverNull: true
  }
}

/** The text of a parameter of `expand` in a query string. In the content of a QUERY, values are not texts. */
export class ExpandText {
  readonly text: string

  constructor (text: string) {
    this.text = text
  }
}

/** The parameter `expand`: paths separated by commas or, in the content of QUERY, an array or an object. */
export const expandParameter: Pick<QueryParameter, 'ofText' | 'read'> = {
  ofText: (text) => new ExpandText(text),
  read: (_lists, value) => ({ features: { expand: '' }, expand: { expand: value } })
}

/** The queries of one collection through its relations. */
class RelationQueries implements ListedRelations {
  readonly #relations: Opened

  constructor (relations: Opened) {
    this.#relations = relations
  }

  get (name: string): ReturnType<ListedRelations['get']> {
    const { relation, reading } = this.#relations.get(name) ?? {}
    if (relation === undefined || reading === undefined || !relation.canFilter) return undefined
    return { isMany: relation.isMany, lists: reading.lists }
  }

  /** What it means is parsed after `expand` itself, which may come later. */
  getParameter (name: string): ReturnType<ListedRelations['getParameter']> {
    if (name === 'expand') return expandParameter
    if (!name.startsWith('expand.')) return undefined
    return {
      ofText: (text) => new ExpandText(text),
      read: (_lists, value) => ({ features: { expand: '' }, expand: { [name]: value } })
    }
  }

  group (conditions: readonly Condition[]): ListFilter[] {
    const filters: ListFilter[] = []
    const groups = new Map<string, { relation: string, has: 'some' | 'none', conditions: Condition[] }>()
    for (const condition of conditions) {
      const [relation = '', second = '', ...rest] = condition.property.split('.')
      const related = this.get(relation)
      if (related === undefined) {
        filters.push(condition)
      } else if (related.isMany && second === 'count') {
        filters.push({ relation, count: { is: condition.is, value: condition.value } })
      } else {
        const key = related.isMany ? `${relation}.${second}` : relation
        const has = key.endsWith('.none') ? 'none' : 'some'
        const property = related.isMany ? rest.join('.') : [second, ...rest].join('.')
        const group = groups.get(key) ?? { relation, has, conditions: [] }
        group.conditions.push({ ...condition, property })
        groups.set(key, group)
      }
    }
    for (const { relation, has, conditions } of groups.values()) {
      const { lists } = this.get(relation)!
      filters.push({ relation, has, filter: combineFilters(lists.relations?.group(conditions) ?? conditions) })
    }
    return filters
  }

  resolve (filter: ListFilter | undefined, order: readonly Order[]): Pick<Query, 'filter' | 'order'> {
    return { filter: filter && this.#resolveFilter(filter), order: order.map((by) => this.#resolveOrder(by)) }
  }

  #resolveFilter (filter: ListFilter): Filter {
    if ('all' in filter) return { all: filter.all.map((part) => this.#resolveFilter(part)) }
    if ('any' in filter) return { any: filter.any.map((part) => this.#resolveFilter(part)) }
    if ('not' in filter) return { not: this.#resolveFilter(filter.not) }
    return 'relation' in filter ? this.#resolveRelation(filter) : filter
  }

  #resolveRelation (filter: RelationFilter): Filter {
    const related = this.#relations.get(filter.relation)!
    if ('count' in filter) {
      const { is, value } = filter.count
      return toCountCondition(this.#toRelatedRows(related, undefined), is, value)
    }
    const { lists } = related.reading!
    const inner = lists.relations?.resolve(filter.filter, []).filter ?? filter.filter as Filter
    const condition: Filter = { related: this.#toRelatedRows(related, inner) }
    return filter.has === 'none' ? { not: condition } : condition
  }

  #resolveOrder (order: Order): Order {
    const dot = order.property.indexOf('.')
    const related = dot < 0 ? undefined : this.#relations.get(order.property.slice(0, dot))
    if (related?.reading === undefined) return order
    return {
      property: order.property.slice(dot + 1),
      descending: order.descending,
      related: this.#toRelatedRows(related, undefined)
    }
  }

  /** The related rows that the caller can read, and that match. */
  #toRelatedRows ({ relation, reading, target }: CallerRelation, filter: Filter | undefined): RelatedRows {
    const { property, equals } = relation
    return { property, equals, ...toBaseRows(target.collection.storage, joinFilters(reading!.scope, filter)) }
  }
}

type CountOperator = NonNullable<Extract<Filter, { related: unknown }>['count']>['is']

/** `in` and `nin` are written with the other operators. */
function toCountCondition (related: RelatedRows, is: Condition['is'], value: Condition['value']): Filter {
  const compare = (operator: CountOperator, number: unknown): Filter => {
    return { related, count: { is: operator, value: Number(number) } }
  }
  if (is === 'in') return { any: (value as readonly unknown[]).map((number) => compare('eq', number)) }
  if (is === 'nin') return { all: (value as readonly unknown[]).map((number) => compare('ne', number)) }
  return compare(is as CountOperator, value)
}
