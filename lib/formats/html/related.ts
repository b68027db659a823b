import type { Embedding } from '../format.ts'
import type { Embedded, EmbeddedItem, EmbeddedList, Links } from '../../http/link.ts'
import { getHeadline } from './headline.ts'
import { markup } from './markup.ts'
import type { Markup } from './markup.ts'

// Related items that a response includes: links to their pages, and their properties.

/** What a response includes for a relation of an item. */
export class RelatedContent {
  readonly items: readonly EmbeddedItem[]
  readonly next: string | undefined
  readonly #included: EmbeddedItem | EmbeddedList | undefined

  constructor (included: EmbeddedItem | EmbeddedList | undefined) {
    this.#included = included
    if (included === undefined || 'item' in included) {
      this.items = included === undefined ? [] : [included]
    } else {
      const { items, links } = included
      this.items = items.map((item, index) => ({ item, links: links.items[index] ?? {} }))
      this.next = links.list.next?.href
    }
  }

  /** As in JSON. */
  toJSON (): unknown {
    if (this.#included === undefined) return null
    if ('item' in this.#included) return this.#included.item
    const { items, total } = this.#included
    return { items, ...total !== undefined && { total }, ...this.next !== undefined && { next: this.next } }
  }
}

export const embedding: Embedding = {
  write: (related: Embedded) => Object.fromEntries(Object.entries(related).map(([name, included]) => {
    return [name, new RelatedContent(included)]
  })),
  describe: () => ({})
}

/** More links make a row of a table too high. */
const maxLinks = 3

/** Renders links to the related items, for a cell of a table. */
export function renderRelatedShort ({ items, next }: RelatedContent): Markup {
  if (items.length === 0) return markup`<span class="none">none</span>`
  const shown = items.slice(0, maxLinks).map(({ item, links }, index) => {
    return markup`${index > 0 && ', '}${renderLink(item, links)}`
  })
  return markup`${shown}${(items.length > maxLinks || next !== undefined) && ', …'}`
}

/** Renders links to the related items, and one to those that follow. */
export function renderRelatedLinks ({ items, next }: RelatedContent): Markup {
  const links = items.map(({ item, links }) => markup`<li>${renderLink(item, links)}</li>`)
  const more = next !== undefined && markup`<li><a href="${next}" rel="next">More</a></li>`
  return markup`<ul>${links}${more}</ul>`
}

function renderLink (item: object, links: Links): Markup {
  const text = getHeadline(item, links)
  return links.self === undefined
    ? markup`<bdi>${text}</bdi>`
    : markup`<a href="${links.self.href}"><bdi>${text}</bdi></a>`
}
