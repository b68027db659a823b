import type { Link, Links } from '../../http/link.ts'
import { formatLink } from '../../http/link.ts'
import type { LinkValue } from '../../http/link.ts'
import { freezeJson } from '../../http/json-value.ts'
import type { Entry, Id } from '../../storage/contract.ts'
import { isUuid } from '../../schema/uuid.ts'
import type { Presentation } from './presentation.ts'
import type { Headers } from './response.ts'

// Links of items and lists (RFC 8288). `path` is always the path of the collection.

export function buildItemPath (path: string, id: Id): string {
  // Most ids are UUIDs, which need no encoding.
  return `${path}/${typeof id === 'string' && isUuid(id) ? id : encodeURIComponent(id)}`
}

/** Returns the path of a route with the values of its parameters; undefined if one of them is not known. */
export function fillPath (route: string, values: Readonly<Record<string, string | undefined>>): string | undefined {
  const path = route.replace(/:(\w+)/g, (parameter, name: string) => {
    const value = values[name]
    return value === undefined ? parameter : encodeURIComponent(value)
  })
  return path.includes(':') ? undefined : path
}

/** The collection of an item, and what the response has of it. */
interface LinkPlace {
  /** The path of the collection. */
  readonly path: string
  /** Only these properties; undefined means all. */
  readonly fields: readonly string[] | undefined
}

/** Builds the links of an item, for formats that have links in their content. */
export function buildItemLinks (presentation: Presentation, entry: Entry<object>, place: LinkPlace): Links {
  const { path } = place
  const self = buildItemPath(path, entry.id)
  const { inputs, type } = presentation
  const { app: { neighbors: { children, hasParent }, itemLinks }, attached, http: { links } } = inputs
  const own: Links = {
    self: { href: self },
    collection: { href: path },
    ...hasParent && { up: { href: path.slice(0, path.lastIndexOf('/')) } },
    ...Object.fromEntries([...children].map((name) => [name, { href: `${self}/${name}` }])),
    ...attached.actions.size > 0 && buildActionLinks(presentation, entry, self),
    ...links !== undefined && buildOwnLinks(presentation, entry)
  }
  if (itemLinks.length === 0) return own
  freezeJson(entry.item)
  return mergeLinks(own, itemLinks.map((build) => build(entry, { ...place, type })))
}

/** The links that come first, whatever names features use. */
const firstLinks: ReadonlySet<string> = new Set(['self', 'collection', 'up'])

/** Adds the links of features, in their order. If the library has one of the same name, it is sent in that place. */
export function mergeLinks (own: Links, added: readonly Links[]): Links {
  const others: Links = Object.assign({}, ...added)
  const first = Object.entries(own).filter(([name]) => firstLinks.has(name) || !Object.hasOwn(others, name))
  return { ...Object.fromEntries(first), ...others, ...own }
}

/** Builds the links of the custom actions that are possible in the state of the item, and that the caller may call. */
function buildActionLinks (presentation: Presentation, entry: Entry<object>, self: string): Links {
  const { inputs: { attached, app }, allowedActions } = presentation
  const item = getVisible(presentation, entry)
  const links: Record<string, Link> = {}
  for (const { name, at, title, isPossible } of attached.actions.values()) {
    if (at !== 'item' || allowedActions?.has(name) === false) continue
    try {
      if (isPossible(item)) links[name] = { href: `${self}/${name}`, title }
    } catch (error) {
      app.linkFailures?.report(`when of the action "${name}"`, entry.id, error)
    }
  }
  return links
}

/** Builds the links of the definition. If its function fails for an item, the others are sent nevertheless. */
function buildOwnLinks (presentation: Presentation, entry: Entry<object>): Links {
  const { inputs } = presentation
  try {
    const item = freezeJson(getVisible(presentation, entry))
    return refusePromise(inputs.http.links!({ item }), 'The function links', 'the links')
  } catch (error) {
    inputs.app.linkFailures?.report('links', entry.id, error)
    return {}
  }
}

/** Links must not depend on what is hidden from the caller: neither does the entity tag. */
function getVisible ({ type }: Presentation, { item }: Entry<object>): object {
  return type.hidden === undefined ? item : type.show(item)
}

/** Returns what a function of the app has returned, which nothing can wait for. `expected` is what it should return. */
export function refusePromise<Value> (value: Value, source: string, expected: string): Value {
  const { then } = Object(value) as { then?: unknown }
  if (typeof then !== 'function') return value
  // If it is rejected as well, that would end the process.
  Promise.resolve(value).catch(() => {})
  throw new TypeError(`${source} returned a promise. Make it return ${expected}.`)
}

/** Builds the header Link of an item. All items at one path have the same, so the last one is cached. */
export function buildItemLinkHeader (presentation: Presentation, path: string): string {
  const cached = presentation.itemLink
  if (cached?.path === path) return cached.header
  const header = formatLink([{ href: path, rel: 'collection' }, ...getDescriptionLinks(presentation.inputs)])
  presentation.itemLink = { path, header }
  return header
}

/** In characters. Each link contains the whole query string, and clients and proxies reject long headers. */
const maxLinkLength = 8000

/** Builds the header Link of a list; undefined if there are no links. If it would be too long, only `next` is sent. */
export function buildListLinkHeader ({ inputs }: Presentation, pages: Links): string | undefined {
  const links = getDescriptionLinks(inputs)
  const rels = Object.keys(pages)
  const length = rels.reduce((sum, rel) => sum + pages[rel]!.href.length, 0)
  for (const rel of rels) {
    if (length <= maxLinkLength || rel === 'next') links.push({ href: pages[rel]!.href, rel })
  }
  return links.length === 0 ? undefined : formatLink(links)
}

/** Adds the link that every response has: to the description of the service. */
export function addDescriptionLink (collection: Described, headers: Headers): Headers {
  if (collection.app.service.description === undefined || headers.link !== undefined) return headers
  return { ...headers, link: formatLink(getDescriptionLinks(collection)) }
}

interface Described {
  readonly app: { readonly service: { readonly description?: string | undefined } }
}

/** RFC 8631, section 4.1. */
function getDescriptionLinks ({ app: { service: { description } } }: Described): LinkValue[] {
  return description === undefined ? [] : [{ href: description, rel: 'service-desc' }]
}
