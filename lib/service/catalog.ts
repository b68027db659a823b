import type { ServedCollection } from '../registry.ts'
import type { Document } from './document.ts'
import type { Settings } from './options.ts'
import { catalogPath, descriptions, places } from './site.ts'

/** RFC 9727, in the format of RFC 9264 section 4.2. References are relative: behind a proxy no other would hold. */
export function catalog (settings: Settings, collections: readonly ServedCollection[]): Document {
  return {
    path: catalogPath,
    mediaTypes: ['application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'],
    // Section 2: a HEAD tells at least that.
    links: () => [{ href: catalogPath, rel: 'api-catalog' }, ...items(collections).map(({ href }) => ({ href, rel: 'item' }))],
    write () {
      const about = descriptions(settings)
      return JSON.stringify({
        linkset: [
          { anchor: catalogPath, item: items(collections) },
          ...about.length === 0 ? [] : [{ anchor: '/', ...Object.fromEntries(about.map(({ rel, href }) => [rel, [{ href }]])) }]
        ]
      })
    }
  }
}

/** A template is no URI, and nothing that a link could lead to. */
function items (collections: readonly ServedCollection[]): Array<{ href: string, title: string | undefined }> {
  return places(collections).filter(({ templated }) => !templated).map(({ href, title, name }) => ({ href, title: title ?? name }))
}
