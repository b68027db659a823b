import { moved } from './answer.ts'
import type { Answer } from './answer.ts'
import type { Collection } from './definition.ts'
import { HookError } from './fault.ts'
import { location } from './http/location.ts'
import { itemPath } from './links.ts'
import type { MovedTo, Moves } from './moves.ts'
import { parentPath } from './request.ts'
import type { Request } from './request.ts'

/** The answer that leads on from where an item was; undefined where nobody knows, or nothing is there either. */
export async function followed (moves: Moves, collection: Collection, request: Request): Promise<Answer | undefined> {
  const uri = await destination(moves, collection, request)
  return uri === undefined ? undefined : moved(location(uri, request.search), moves.status)
}

/** An item that moved more than once is led to at once; who goes in a circle, or to where nothing is, is not sent on the way. */
async function destination (moves: Moves, collection: Collection, request: Request): Promise<string | undefined> {
  const visited = new Set<string>()
  for (let segment = request.segment; !visited.has(segment);) {
    visited.add(segment)
    const to = await asked(moves, segment, request)
    if (to === undefined) return undefined
    if (typeof to === 'object') return elsewhere(to.href, request)
    segment = String(to)
    const id = collection.id.read(segment)
    if (id !== undefined && await collection.storage.find(id, request.context) !== undefined) return itemPath(parentPath(request), id)
  }
  return undefined
}

async function asked ({ to }: Moves, segment: string, { original }: Request): Promise<MovedTo> {
  try {
    return await to(segment, original)
  } catch (error) {
    throw new HookError(error)
  }
}

/** What is there is not ours to know, but it is not here. */
function elsewhere (href: string, { path, original }: Request): string | undefined {
  const here = new URL(path, 'http://localhost')
  const there = new URL(href, here)
  const same = there.pathname === here.pathname && (there.host === here.host || there.host === original.host)
  return same ? undefined : href
}
