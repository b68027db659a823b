import type { Context, Query } from '../contract.ts'
import { aliasLayout } from './alias-layout.ts'
import { ConditionBuilder } from './condition-builder.ts'
import { Keyset } from './keyset.ts'
import type { Layout } from './layout.ts'
import { hasRelatedOrder, OrderJoins } from './order-joins.ts'
import type { Parameters } from './parameters.ts'

/** What a list reads from: its table, joined with those of related rows that it is ordered by. */
export class ListSource {
  readonly layout: Layout
  readonly isJoined: boolean
  readonly keyset: Keyset
  /** The table, with its alias if there is one. */
  readonly table: string
  readonly #joins: OrderJoins

  /** Without related rows, and without an alias, columns are not qualified. */
  constructor (layout: Layout, { order, before }: Query, alias?: string) {
    this.isJoined = hasRelatedOrder(order)
    const name = alias ?? (this.isJoined ? 'listed' : undefined)
    this.layout = name === undefined ? layout : aliasLayout(layout, name)
    this.table = name === undefined ? layout.table : `${layout.table} AS ${name}`
    this.#joins = new OrderJoins(this.layout, order)
    this.keyset = new Keyset(this.#joins, order, before !== undefined)
  }

  /** Builds the joins; empty, or they begin with a space. Their values precede those of the conditions. */
  buildJoins (parameters: Parameters): string {
    return this.#joins.build(parameters)
  }

  /** Builds the conditions of the scope, the filter and the search. */
  buildConditions ({ filter, search }: Query, { scope }: Context, parameters: Parameters): string[] {
    return buildConditions(this.layout, { filter, search, scope }, parameters)
  }
}

/** Builds the conditions of a list, none of which depends on its order. */
export function buildConditions (
  layout: Layout,
  { filter, search, scope }: Pick<Query, 'filter' | 'search'> & Pick<Context, 'scope'>,
  parameters: Parameters
): string[] {
  const builder = new ConditionBuilder(layout, parameters)
  const conditions = [scope, filter]
    .filter((part) => part !== undefined)
    .map((part) => builder.buildFilter(part))
  return search === undefined ? conditions : [...conditions, builder.buildSearch(search)]
}
