import type { Collection } from '../../engine/collection.ts'
import { getSingleActions, groupByPath } from '../../engine/table.ts'
import type { TablePlace } from '../../engine/table.ts'
import type { ActionInfo } from '../../engine/action-info.ts'
import type { Problem } from '../../http/problems.ts'
import { problem } from '../../http/problems.ts'
import type { ServedCollection } from '../../engine/registry.ts'
import type { Part } from './parts.ts'
import type { ResolvedPath } from './path-template.ts'

// Which action of which collection a part is about. That never depends on a reference, so that every part can be
// authorized before any of them runs.

/** A path at which a collection of the batch is served, such as `/orders/:parent/lines`. */
export interface ServedPath {
  readonly collection: Collection
  readonly segments: readonly string[]
  /** What parts can be about. */
  readonly places: readonly TablePlace[]
}

/** What a part is about. */
export interface Target {
  readonly collection: Collection
  readonly action: ActionInfo
  /** How many segments the path of the collection has. */
  readonly depth: number
  /** The first segments of the path, which are not those of the collection itself or of its parent. */
  readonly prefix: readonly string[]
  /** Returns the parameters of the path, as those of a Fastify request. */
  getParameters (path: ResolvedPath): Readonly<Record<string, string>>
}

export function toServedPath ({ path, collection }: Pick<ServedCollection, 'path' | 'collection'>): ServedPath {
  return { collection, segments: path.slice(1).split('/'), places: groupByPath(getSingleActions(collection)) }
}

/** Finds the action of a part: 404 for an unknown path, and 405 for a method that it does not support. */
export function findTarget (served: readonly ServedPath[], part: Part): Target | Problem {
  const { path, method } = part
  for (const { collection, segments, places } of served) {
    const matches = segments.every((segment, index) => isMatch(segment, path.segments[index], part))
    const rest = path.segments.slice(segments.length)
    if (!matches || rest.length > 2) continue
    const actions = findActions(places, rest, part)
    if (actions === undefined) continue
    const action = actions[method]
    if (action === undefined) return methodNotAllowed(method, Object.keys(actions))
    return {
      collection,
      action,
      depth: segments.length,
      prefix: segments.slice(0, collection.attached.parent === undefined ? -1 : -3),
      getParameters: (resolved) => Object.fromEntries([
        ...segments.flatMap((name, index) => isParameter(name) ? [[name.slice(1), resolved.segments[index]!]] : []),
        ...action.at === 'item' ? [['id', resolved.segments[segments.length]!]] : []
      ])
    }
  }
  return problem('not-found', {
    detail: 'No collection of this batch has this path. A path is as the service sees it, with the prefix.'
  })
}

export function isParameter (segment: string): boolean {
  return segment.startsWith(':')
}

function isMatch (pattern: string, segment: string | undefined, { path }: Part): boolean {
  if (segment === undefined || segment === '') return false
  return isParameter(pattern) || (!path.isOpen(segment) && decodeURIComponent(segment) === pattern)
}

/** Returns the actions at what follows the path of a collection, by method; undefined if there is nothing. */
function findActions (
  places: readonly TablePlace[],
  rest: readonly string[],
  { path }: Part
): Readonly<Record<string, ActionInfo>> | undefined {
  const [id, name] = rest
  if (id === '') return undefined
  const find = (at: ActionInfo['at'], path?: string) => places.find((place) => place.at === at && place.path === path)
  const last = name ?? id
  // A name of an action precedes an id, as in the router of Fastify.
  const named = last === undefined || path.isOpen(last)
    ? undefined
    : find(name === undefined ? 'collection' : 'item', decodeURIComponent(last))
  const place = named ?? (name === undefined ? find(id === undefined ? 'collection' : 'item') : undefined)
  return place && Object.fromEntries(place.actions.map((action) => [action.methods[0]!, action]))
}

function methodNotAllowed (method: string, supported: readonly string[]): Problem {
  const others = supported.length === 0 ? 'none in a batch' : supported.join(', ')
  return problem('method-not-allowed', { detail: `${method} is not supported here. Supported: ${others}.` })
}
