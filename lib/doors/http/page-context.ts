import { findAllowedActions, fromRequest } from '../../engine/access/evaluate.ts'
import { getRepresentationTypes } from './content.ts'
import type { Collection } from '../../engine/collection.ts'
import type { View } from '../../engine/view.ts'
import { getCallerId } from '../../engine/access/caller.ts'
import type { Caller, CallerLike } from '../../engine/access/caller.ts'
import type { PageContext, Capabilities } from '../../formats/format.ts'
import type { Link } from '../../http/link.ts'
import { getTargetPath } from './request.ts'
import type { HttpRequest } from './request.ts'
import { fillPath } from './links.ts'
import type { JsonSchema } from '../../storage/contract.ts'

// What an HTML page shows besides the content: queries and actions that the caller can use, and links.

function describeCapabilities (collection: Collection, { type, lists }: View): Capabilities {
  const { name, id, http: { mediaTypes }, access, app: { service }, attached } = collection
  const { messages, hidden } = type
  const { filterable, sortable, parameters, limit } = lists
  return {
    name,
    id: id.property,
    schemas: {
      create: omitHidden(messages.create, hidden),
      replace: omitHidden(messages.replace, hidden),
      read: omitHidden(messages.read, hidden)
    },
    actions: [...attached.actions.values()].map(({ name, at, title, input }) => {
      return { name, at, title, input: omitHidden(input, hidden) }
    }),
    mediaTypes,
    takesJson: getRepresentationTypes(collection.http.formats).includes('application/json'),
    filters: [...filterable.values()],
    sorts: [...sortable.keys()],
    search: parameters.has('q'),
    counts: parameters.has('count'),
    limit,
    authenticates: access?.authenticate !== undefined,
    description: service.description
  }
}

function omitHidden (schema: JsonSchema, hidden: ReadonlySet<string> | undefined): JsonSchema {
  if (hidden === undefined) return schema
  const visible = Object.entries({ ...schema.properties }).filter(([name]) => !hidden.has(name))
  return { ...schema, properties: Object.fromEntries(visible) }
}

interface PageInfo {
  /** Whether the page shows the collection or an item. */
  readonly at: 'collection' | 'item'
  /** Whether the request only reads, so that the page is about its URI. */
  readonly safe: boolean
  readonly tag: string | undefined
  readonly total: string | undefined
}

/** Returns what a page shows besides the content of the response. */
export async function buildPageContext (
  collection: Collection,
  request: HttpRequest,
  { at, safe, tag, total }: PageInfo
): Promise<PageContext> {
  const { path, action, search, place, access, original, presentation } = request
  const { scope, caller, view } = access
  const { home } = collection.app.service
  const trail = [...home === undefined ? [] : [home], ...buildTrail(collection, path, at)]
  const target = safe ? getTargetPath(request, path) : path
  if (target !== path) trail.push({ href: target, title: action.path! })
  return {
    capabilities: describeCapabilities(collection, view),
    path: target,
    search,
    origin: getOrigin(original),
    trail,
    actions: await findAllowedActions(collection, fromRequest(original), presentation.allowedActions),
    fixed: Object.keys({ ...scope?.values, ...place?.fixed }),
    related: findRelatedPaths(collection, original),
    tag,
    total,
    caller: getCallerName(caller)
  }
}

/** From the target URI, which caches use as their key: X-Forwarded-Host of one client must not reach another one. */
function getOrigin ({ headers, protocol }: HttpRequest['original']): string {
  const host = headers[':authority'] ?? headers.host ?? ''
  return `${protocol === 'https' ? 'https' : 'http'}://${String(host)}`
}

/** The name if the caller has one, because a person recognizes it; otherwise the id. */
function getCallerName (caller: Caller | undefined): string | undefined {
  if (caller === undefined) return undefined
  const { name } = Object(caller) as { name?: unknown }
  return typeof name === 'string' && name !== '' ? name : String(getCallerId(caller as CallerLike))
}

/** Links to the collections and items that contain the target, and to the target itself. */
function buildTrail (collection: Collection, path: string, at: PageInfo['at']): Link[] {
  const containerPath = path.slice(0, path.lastIndexOf('/'))
  if (at === 'item') {
    return [...buildTrail(collection, containerPath, 'collection'), { href: path, title: getLastSegment(path) }]
  }
  const link = { href: path, title: collection.name }
  if (collection.attached.parent === undefined) return [link]
  return [...buildTrail(collection.attached.parent.collection, containerPath, 'item'), link]
}

function getLastSegment (path: string): string {
  return decodeURIComponent(path.slice(path.lastIndexOf('/') + 1))
}

/** By property: the path of the collection that it refers to, with the parameters of the prefix of this request. */
function findRelatedPaths (
  collection: Collection,
  { params }: HttpRequest['original']
): ReadonlyMap<string, string> {
  const values = params as Readonly<Record<string, string | undefined>>
  const paths = new Map<string, string>()
  for (const { property, isMany, findTarget } of collection.attached.relations.values()) {
    if (isMany) continue
    const target = findTarget(collection.app)
    // The id of the item that the other one is nested in is not known.
    if (target.collection.attached.parent !== undefined) continue
    const path = fillPath(target.path, values)
    if (path !== undefined) paths.set(property, path)
  }
  return paths
}
