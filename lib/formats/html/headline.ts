import type { Link, Links } from '../../http/link.ts'

/** The properties that name an item for people. */
const nameProperties = ['title', 'name', 'label']

/**
 * Returns the headline of an item: its title, name or label, else the last segment of its URI. The output of a custom
 * action has no URI of its own: its headline is the end of the breadcrumbs, or what is above it.
 */
export function getHeadline (item: object, links: Links, trail: readonly Link[] = []): string {
  for (const property of nameProperties) {
    const value: unknown = Reflect.get(item, property)
    if (typeof value === 'string' && value !== '') return value.slice(0, 100)
  }
  const end = trail.at(-1)?.title
  if (links.self === undefined && end !== undefined) return end
  const { href } = links.self ?? links.up ?? { href: '' }
  return decodeURIComponent(href.slice(href.lastIndexOf('/') + 1))
}
