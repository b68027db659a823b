import type { PageContext } from '../format.ts'
import type { Links } from '../../http/link.ts'
import { getSafeHref, markup } from './markup.ts'
import type { Markup } from './markup.ts'
import { findTarget, renderFull } from './value.ts'

/** Renders the properties of an item. */
export function renderItem (item: object, { capabilities: { schemas: { read } }, related }: PageContext): Markup {
  const { properties = {} } = read
  const rows = getPropertyNames(item, properties).map((name) => {
    const target = findTarget(Reflect.get(item, name), related.get(name))
    const value = renderFull(Reflect.get(item, name), { ...properties[name] }, target)
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

/**
 * Renders the links to nested collections, to lists of related items, and those of the definition. Custom actions have
 * forms instead, and the ids of related items are links themselves.
 */
export function renderRelatedLinks (
  item: object,
  links: Links,
  { capabilities, related }: PageContext
): Markup | undefined {
  const actions = new Set(capabilities.actions.map(({ name }) => name))
  const targets = [...related].map(([property, path]) => findTarget(Reflect.get(item, property), path))
  const shown = Object.entries(links).filter(([relation, { href }]) => {
    return !trailRelations.has(relation) && !actions.has(relation) && !targets.includes(href) &&
      getSafeHref(href) !== undefined
  })
  if (shown.length === 0) return undefined
  const items = shown.map(([relation, { href, title }]) => {
    return markup`<li><a href="${href}" rel="${relation}">${title ?? relation}</a></li>`
  })
  return markup`<nav class="links" aria-label="Related">
<ul>${items}</ul>
</nav>`
}
