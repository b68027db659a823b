import type { ServedCollection } from '../registry.ts'
import type { Document } from './document.ts'
import type { ServiceSettings } from './options.ts'
import { catalogPath, getCollectionLinks, getDescriptionLinks } from './links.ts'

/** Builds the API catalog (RFC 9727), as a linkset (RFC 9264, section 4.2). References are relative, for proxies. */
export function buildCatalog (settings: ServiceSettings, collections: readonly ServedCollection[]): Document {
  return {
    path: catalogPath,
    mediaTypes: ['application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'],
    // RFC 9727, section 2: also for HEAD.
    links: () => [
      { href: catalogPath, rel: 'api-catalog' },
      ...buildItems(collections).map(({ href }) => ({ href, rel: 'item' }))
    ],
    write () {
      const linkset: object[] = [{ anchor: catalogPath, item: buildItems(collections) }]
      const descriptions = getDescriptionLinks(settings)
      if (descriptions.length > 0) {
        linkset.push({ anchor: '/', ...Object.fromEntries(descriptions.map(({ rel, href }) => [rel, [{ href }]])) })
      }
      return JSON.stringify({ linkset })
    }
  }
}

/** Without templates: they are not URIs, so links cannot refer to them. */
function buildItems (collections: readonly ServedCollection[]): Array<{ href: string, title: string | undefined }> {
  return getCollectionLinks(collections)
    .filter(({ templated }) => !templated)
    .map(({ href, title, name }) => ({ href, title: title ?? name }))
}
