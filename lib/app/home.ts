import { hal } from '../formats/hal.ts'
import { json } from '../formats/json.ts'
import type { Home } from '../formats/format.ts'
import type { LinkValue } from '../http/link.ts'
import type { ServedCollection } from '../engine/registry.ts'
import type { Document } from './document.ts'
import type { ServiceSettings } from './options.ts'
import { getCollectionLinks, getDescriptionLinks } from './links.ts'

/** Builds the home document: HAL with registered relations. Links of one relation differ by `name`. */
export function buildHome (
  path: string,
  settings: ServiceSettings,
  collections: readonly ServedCollection[]
): Document {
  const links = (): LinkValue[] => getDescriptionLinks(settings)
  return {
    path,
    mediaTypes: [json.mediaType, hal.mediaType],
    links,
    findPage () {
      const format = collections
        .flatMap(({ collection }) => collection.http.formats)
        .find(({ home }) => home !== undefined)
      if (format?.home === undefined) return undefined
      const { mediaType, home, headers = {} } = format
      return { mediaType, headers, write: () => home(describeHome(path, settings, collections, links())) }
    },
    write () {
      const found = getCollectionLinks(collections)
      return JSON.stringify({
        title: settings.title,
        _links: {
          self: { href: path },
          ...Object.fromEntries(links().map(({ rel, href }) => [rel, { href }])),
          ...settings.client !== undefined && {
            related: [{ href: settings.client, name: 'client', type: 'text/javascript' }]
          },
          collection: found.map(({ href, name, templated, title }) => (
            { href, name, title, ...templated && { templated } }
          )),
          item: found
            .filter(({ hasItemRoutes }) => hasItemRoutes)
            .map(({ href, name }) => ({ href: `${href}/{id}`, name, templated: true }))
        }
      })
    }
  }
}

/** What a format for people gets. */
function describeHome (
  path: string,
  { title = 'API' }: ServiceSettings,
  collections: readonly ServedCollection[],
  links: readonly LinkValue[]
): Home {
  return {
    title,
    path,
    collections: getCollectionLinks(collections).map(({ href, name, title: label, templated }) => (
      { href, title: label ?? name, isTemplate: templated }
    )),
    links: links.map(({ href, rel }) => ({ href, rel }))
  }
}
