import type { LinkValue } from '../http/link.ts'
import type { ServedCollection } from '../engine/registry.ts'
import type { ServiceSettings } from './options.ts'

/** Returns the link to the description of the service: RFC 8631, section 4. */
export function getDescriptionLinks ({ description }: ServiceSettings): LinkValue[] {
  return description === undefined ? [] : [{ href: description, rel: 'service-desc' }]
}

interface CollectionLink {
  readonly name: string
  /** A URI template (RFC 6570) if the path has parameters. */
  readonly href: string
  readonly templated: boolean
  readonly hasItemRoutes: boolean
  readonly title: string | undefined
}

const itemActions = ['read', 'replace', 'update', 'remove'] as const
const pathParameter = /:(\w+)(?:\([^/]*\))?/g

/** Returns the links to the collections, one for each path. */
export function getCollectionLinks (collections: readonly ServedCollection[]): CollectionLink[] {
  const links = new Map<string, CollectionLink>()
  for (const { path, collection: { name, actions, schema: { title } } } of collections) {
    const href = path.replace(pathParameter, '{$1}')
    links.set(href, {
      name,
      href,
      templated: href !== path,
      hasItemRoutes: itemActions.some((action) => actions.has(action)),
      title: typeof title === 'string' ? title : undefined
    })
  }
  return [...links.values()]
}
