import type { JsonSchema } from '../../storage/contract.ts'
import type { PageContext } from '../format.ts'
import type { Links } from '../../http/link.ts'
import { getPropertyNames } from './item.ts'
import { getKind } from './kind.ts'
import { markup, renderAttributes } from './markup.ts'
import type { Markup } from './markup.ts'
import { buildListUrl } from './query-form.ts'
import { findTarget, renderShort } from './value.ts'

/** Items that allow any property could otherwise have more columns than a person reads. */
const maxColumns = 40

/** Renders the items of a list as a table. */
export function renderTable (items: readonly object[], links: readonly Links[], context: PageContext): Markup {
  const { capabilities: { name, id, sorts, schemas: { read: { properties = {} } } }, related } = context
  const columns = getColumns(items, context)
  const numeric = new Set(columns.filter((column) => isNumeric(column, items, { ...properties[column] })))
  const rows = items.map((item, index) => {
    const cells = columns.map((column) => {
      const content: unknown = Reflect.get(item, column)
      const target = findTarget(content, related.get(column))
      const value = renderShort(content, { ...properties[column] }, target)
      return numeric.has(column) ? markup`<td class="number">${value}</td>` : markup`<td>${value}</td>`
    })
    return markup`<tr><th scope="row">${renderItemLink(item, links[index], id)}</th>${cells}</tr>
`
  })
  return markup`<div class="scroll" role="region" aria-label="${name}" tabindex="0">
<table>
<thead><tr>${[id, ...columns].map((column) => {
  return renderHeading(column, { isNumber: numeric.has(column), canSort: sorts.includes(column) }, context)
})}</tr></thead>
<tbody>
${rows}</tbody>
</table>
</div>
<p class="hint" data-wide hidden>Scroll the table to see all of its ${columns.length + 1} columns.</p>`
}

/**
 * Returns the columns after the id: all properties that the caller can read, so that they are the same on every page,
 * even if no item of this page has one of them. With `fields`, only those of the items.
 */
function getColumns (items: readonly object[], { capabilities: { id, schemas }, search }: PageContext): string[] {
  const { properties = {} } = schemas.read
  const merged = Object.fromEntries(items.flatMap((item) => Object.entries(item)))
  const known = new URLSearchParams(search).has('fields') ? {} : properties
  return getPropertyNames({ ...known, ...merged }, properties)
    .filter((column) => column !== id)
    .slice(0, maxColumns)
}

function renderItemLink (item: object, { self }: Links = {}, id: string): Markup {
  const text = Object.hasOwn(item, id) ? String(Reflect.get(item, id)) : 'Open'
  return self === undefined ? markup`<bdi>${text}</bdi>` : markup`<a href="${self.href}"><bdi>${text}</bdi></a>`
}

/** A decimal as a string, such as a price. */
const decimal = /^-?\d+(?:\.\d+)?$/

/** Whether a column has numbers, which are compared digit by digit: by its schema, or by all its values. */
function isNumeric (column: string, items: readonly object[], schema: JsonSchema): boolean {
  const { type } = getKind(schema)
  if (type === 'number' || type === 'integer') return true
  const values = items.map((item) => Reflect.get(item, column) as unknown).filter((value) => value != null)
  return values.length > 0 && values.every((value) => {
    return typeof value === 'number' || (typeof value === 'string' && value.includes('.') && decimal.test(value))
  })
}

/** The link of a heading sorts by its column, and reverses the order if the list is sorted by it already. */
export function renderHeading (
  column: string,
  { isNumber, canSort }: { readonly isNumber: boolean, readonly canSort: boolean },
  context: PageContext
): Markup {
  const sort = new URLSearchParams(context.search).get('sort')
  const next = sort === column ? `-${column}` : column
  const label = canSort
    ? markup`<a href="${buildListUrl(context, { sort: next })}">${column}</a>`
    : markup`${column}`
  const attributes = renderAttributes({
    scope: 'col',
    class: isNumber ? 'number' : undefined,
    'aria-sort': sort === column ? 'ascending' : sort === `-${column}` ? 'descending' : undefined
  })
  return markup`<th${attributes}>${label}</th>`
}
