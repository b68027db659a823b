import type { Links } from '../format.ts'

/** The properties that name an item for people. */
export const nameProperties = ['title', 'name', 'label']

/** Returns the headline of an item: its title, name or label, else the last segment of its URI or of what is above. */
export function getHeadline (item: object, links: Links): string {
  for (const property of nameProperties) {
    const value: unknown = Reflect.get(item, property)
    if (typeof value === 'string' && value !== '') return value.slice(0, 100)
  }
  // The output of a custom action has no URI of its own.
  const { href } = links.self ?? links.up ?? { href: '' }
  return decodeURIComponent(href.slice(href.lastIndexOf('/') + 1))
}
