import { hal } from '../formats/hal.ts'
import { json } from '../formats/json.ts'
import type { ServedCollection } from '../registry.ts'
import type { Document } from './document.ts'
import type { Settings } from './options.ts'
import { catalogPath, descriptions, places } from './site.ts'

/** Where a client that knows nothing else begins: HAL, with relations that are registered. The collections and their items are told apart by `name`. */
export function home (path: string, settings: Settings, collections: readonly ServedCollection[]): Document {
  const links = () => [...settings.catalog ? [{ href: catalogPath, rel: 'api-catalog' }] : [], ...descriptions(settings)]
  return {
    path,
    mediaTypes: [json.mediaType, hal.mediaType],
    links,
    write () {
      const found = places(collections)
      return JSON.stringify({
        title: settings.title,
        _links: {
          self: { href: path },
          ...Object.fromEntries(links().map(({ rel, href }) => [rel, { href }])),
          collection: found.map(({ href, name, templated, title }) => ({ href, name, title, ...templated && { templated } })),
          item: found.filter(({ items }) => items).map(({ href, name }) => ({ href: `${href}/{id}`, name, templated: true }))
        }
      })
    }
  }
}
