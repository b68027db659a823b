import type { About, Links } from '../format.ts'
import { followed, markup } from './escape.ts'
import type { Markup } from './escape.ts'
import { wholly } from './value.ts'

/** The properties of an item, by their names. */
export function record (item: object, { offer: { schemas: { read: { properties = {} } } }, related }: About): Markup {
  return markup`<dl>
${namesOf(item, properties).map(name => markup`<div><dt>${name}</dt><dd>${wholly(Reflect.get(item, name), { ...properties[name] }, related.get(name))}</dd></div>
`)}</dl>`
}

/** In the order of the schema, with those behind that it does not name. */
export function namesOf (item: object, known: Readonly<Record<string, unknown>>): string[] {
  const present = Object.keys(item)
  return [...new Set([...Object.keys(known).filter(name => present.includes(name)), ...present])]
}

/** They are shown as the way to the item. */
const elsewhere = new Set(['self', 'collection', 'up'])

/** Where one can go from an item: the collections in it, and what the definition links it to. */
export function relatives (links: Links): Markup | undefined {
  const shown = Object.entries(links).filter(([relation, { href }]) => !elsewhere.has(relation) && followed(href) !== undefined)
  if (shown.length === 0) return undefined
  return markup`<nav class="links" aria-label="Related">
<ul>${shown.map(([relation, { href, title }]) => markup`<li><a href="${href}" rel="${relation}">${title ?? relation}</a></li>`)}</ul>
</nav>`
}

/** What an item is called on its page. */
export function headline (item: object, links: Links): string {
  const named = ['title', 'name', 'label'].map(property => Reflect.get(item, property) as unknown).find(value => typeof value === 'string' && value !== '')
  const { self: { href } = { href: '' } } = links
  return typeof named === 'string' ? named.slice(0, 100) : decodeURIComponent(href.slice(href.lastIndexOf('/') + 1))
}
