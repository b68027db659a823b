import type { JsonSchema } from '../../storage/contract.ts'
import type { PageContext } from '../format.ts'
import { markup } from './markup.ts'
import type { Markup } from './markup.ts'
import { renderHeading } from './table.ts'
import { findTarget, renderShort } from './value.ts'

/** What an aggregate responds with. */
interface Groups {
  readonly groups: readonly Group[]
  readonly more: boolean
}

/** What the items of a group have in common, their number, and figures by name and property. */
interface Group {
  readonly by: Readonly<Record<string, unknown>>
  readonly count?: number
  readonly [figure: string]: unknown
}

/** A column with the values of all groups. */
interface Column {
  /** As in the query parameter `sort`. */
  readonly name: string
  /** The property whose values it has; undefined if it has other numbers. */
  readonly property?: string
  readonly values: readonly unknown[]
}

/** More would make a page too long to read; JSON has all of them. */
const maxRows = 1000

/** Renders the groups of an aggregate as a table, with a column for each figure. */
export function renderGroups (output: object, context: PageContext): Markup {
  const { capabilities: { name, schemas: { read: { properties = {} } } }, related } = context
  const { groups: all, more } = output as Groups
  const groups = all.slice(0, maxRows)
  const [first] = groups
  if (first === undefined) return markup`<p class="empty">No items match.</p>`
  const names = Object.keys(first.by)
  const common = names.map((by): Column => ({ name: by, property: by, values: groups.map((group) => group.by[by]) }))
  const figures = getFigures(first, groups)
  const numeric = new Set(figures.filter(({ values }) => values.every((value) => typeof value !== 'string')))
  const getSchema = ({ property }: Column): JsonSchema => property === undefined ? {} : { ...properties[property] }
  const rows = groups.map((_group, index) => {
    const heads = common.map((column) => {
      const value = column.values[index]
      const target = findTarget(value, related.get(column.name))
      return markup`<th scope="row">${renderShort(value, getSchema(column), target)}</th>`
    })
    const cells = figures.map((column) => {
      const value = renderShort(column.values[index], getSchema(column), undefined)
      return numeric.has(column) ? markup`<td class="number">${value}</td>` : markup`<td>${value}</td>`
    })
    return markup`<tr>${heads}${cells}</tr>
`
  })
  const caption = names.length === 0 ? `Figures of ${name}` : `Figures of ${name} by ${names.join(', ')}`
  return markup`<div class="scroll" role="region" aria-label="${name}" tabindex="0">
<table>
<caption class="hint">${caption}</caption>
<thead><tr>${[...common, ...figures].map((column) => {
  return renderHeading(column.name, { isNumber: numeric.has(column), canSort: true }, context)
})}</tr></thead>
<tbody>
${rows}</tbody>
</table>
</div>
<div class="below"><p class="count">${renderCount(groups.length, more || groups.length < all.length)}</p></div>`
}

/** The figures that the request has named: all groups have the same ones. */
function getFigures ({ by, count, ...figures }: Group, groups: readonly Group[]): Column[] {
  const counts = count === undefined ? [] : [{ name: 'count', values: groups.map((group) => group.count) }]
  const others = Object.entries(figures).flatMap(([figure, values]) => Object.keys(Object(values)).map((property) => ({
    name: `${figure}.${property}`,
    ...(figure === 'min' || figure === 'max') && { property },
    values: groups.map((group) => Reflect.get(Object(group[figure]), property) as unknown)
  })))
  return [...counts, ...others]
}

function renderCount (length: number, hasMore: boolean): string {
  const groups = length === 1 ? '1 group' : `${length} groups`
  return hasMore ? `${groups}, and there are more` : groups
}
