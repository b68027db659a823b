import type { PageContext, Links } from '../format.ts'
import { getSafeHref, markup } from './markup.ts'
import type { Markup } from './markup.ts'
import { renderFull } from './value.ts'

/** Renders the properties of an item. */
export function renderItem (item: object, { capabilities: { schemas: { read } }, related }: PageContext): Markup {
  const { properties = {} } = read
  const rows = getPropertyNames(item, properties).map((name) => {
    const value = renderFull(Reflect.get(item, name), { ...properties[name] }, related.get(name))
    return markup`<div><dt>${name}</dt><dd>${value}</dd></div>
`
  })
  return markup`<dl>
${rows}</dl>`
}

/** Returns the names of properties in the order of the schema, followed by those that it does not name. */
export function getPropertyNames (item: object, known: Readonly<Record<string, unknown>>): string[] {
  const present = Object.keys(item)
  return [...new Set([...Object.keys(known).filter((name) => present.includes(name)), ...present])]
}

/** The breadcrumbs already have these. */
const trailRelations = new Set(['self', 'collection', 'up'])

/** Renders the links to nested collections, and those of the definition. Custom actions have forms instead. */
export function renderRelatedLinks (links: Links, { capabilities }: PageContext): Markup | undefined {
  const actions = new Set(capabilities.actions.map(({ name }) => name))
  const shown = Object.entries(links).filter(([relation, { href }]) => {
    return !trailRelations.has(relation) && !actions.has(relation) && getSafeHref(href) !== undefined
  })
  if (shown.length === 0) return undefined
  const items = shown.map(([relation, { href, title }]) => {
    return markup`<li><a href="${href}" rel="${relation}">${title ?? relation}</a></li>`
  })
  return markup`<nav class="links" aria-label="Related">
<ul>${items}</ul>
</nav>`
}

/** Returns the headline of an item: its title, name or label, else the last segment of its URI or of what is above. */
export function getHeadline (item: object, links: Links): string {
  for (const property of ['title', 'name', 'label']) {
    const value: unknown = Reflect.get(item, property)
    if (typeof value === 'string' && value !== '') return value.slice(0, 100)
  }
  // The output of a custom action has no URI of its own.
  const { href } = links.self ?? links.up ?? { href: '' }
  return decodeURIComponent(href.slice(href.lastIndexOf('/') + 1))
}
