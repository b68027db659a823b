import type { About, Links } from '../format.ts'
import { markup } from './escape.ts'
import type { Markup } from './escape.ts'
import { asking } from './question.ts'
import { namesOf } from './record.ts'
import { shortly } from './value.ts'

/** The items of a list, a row for each. */
export function table (items: readonly object[], links: readonly Links[], about: About): Markup {
  const { offer: { name, id, schemas: { read: { properties = {} } } }, related } = about
  const columns = namesOf(Object.fromEntries(items.flatMap(item => Object.entries(item))), properties).filter(column => column !== id).slice(0, mostColumns)
  return markup`<div class="scroll" role="region" aria-label="${name}" tabindex="0">
<table>
<thead><tr>${heading(id, about)}${columns.map(column => heading(column, about))}</tr></thead>
<tbody>
${items.map((item, index) => markup`<tr><th scope="row">${opener(item, links[index], id)}</th>${columns.map(column => markup`<td>${shortly(Reflect.get(item, column), { ...properties[column] }, related.get(column))}</td>`)}</tr>
`)}</tbody>
</table>
</div>`
}

/** More columns than a person looks at would come of items that are open to any property. */
const mostColumns = 40

/** Leads to the item, by its id where that is shown. */
function opener (item: object, { self }: Links = {}, id: string): Markup {
  const text = Object.hasOwn(item, id) ? String(Reflect.get(item, id)) : 'Open'
  return self === undefined ? markup`<bdi>${text}</bdi>` : markup`<a href="${self.href}"><bdi>${text}</bdi></a>`
}

/** A column can be sorted by following its heading, and the other way round by following it again. */
function heading (column: string, about: About): Markup {
  const sort = new URLSearchParams(about.search).get('sort')
  const [direction, next] = sort === column ? ['ascending', `-${column}`] : sort === `-${column}` ? ['descending', column] : [undefined, column]
  const label = about.offer.sorts.includes(column) ? markup`<a href="${asking(about, { sort: next })}">${column}</a>` : markup`${column}`
  return direction === undefined ? markup`<th scope="col">${label}</th>` : markup`<th scope="col" aria-sort="${direction}">${label}</th>`
}
