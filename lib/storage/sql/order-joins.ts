import type { Order, RelatedRows } from '../contract.ts'
import { aliasLayout } from './alias-layout.ts'
import { ConditionBuilder } from './condition-builder.ts'
import type { Layout } from './layout.ts'
import type { Parameters } from './parameters.ts'
import { buildRelation, findLayout } from './related.ts'

/** The rows of one relation that a list is ordered by. */
interface OrderJoin {
  readonly related: RelatedRows
  readonly layout: Layout
}

/** Whether lists in this order have to read related rows. */
export function hasRelatedOrder (order: readonly Order[]): boolean {
  return order.some(({ related }) => related !== undefined)
}

/** The tables that a list is joined with for its order. */
export class OrderJoins {
  readonly layout: Layout
  readonly #joins: readonly OrderJoin[]

  /** The layout has an alias if there are joins. */
  constructor (layout: Layout, order: readonly Order[]) {
    this.layout = layout
    const all = new Set(order.map(({ related }) => related).filter((related) => related !== undefined))
    this.#joins = [...all].map((related, index) => ({
      related,
      layout: aliasLayout(findLayout(related.storage, layout), `sorted_${index + 1}`)
    }))
  }

  /** Returns the layout of the table that has the property. */
  getLayout ({ related }: Order): Layout {
    return this.#joins.find((join) => join.related === related)?.layout ?? this.layout
  }

  /** Rows that do not match the filter are not found, as if they did not exist. */
  build (parameters: Parameters): string {
    return this.#joins.map(({ related, layout }) => {
      const condition = buildRelation(layout, this.layout, related)
      const filter = related.filter === undefined
        ? ''
        : ` AND ${new ConditionBuilder(layout, parameters).buildFilter(related.filter)}`
      return ` LEFT JOIN ${layout.table} AS ${layout.alias} ON ${condition}${filter}`
    }).join('')
  }
}
