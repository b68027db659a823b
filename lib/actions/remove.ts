import type { Result } from '../action.ts'
import { noContent, ok } from '../response/response.ts'
import type { Response } from '../response/response.ts'
import { dependsOnItem } from '../engine/preconditions.ts'
import type { Collection } from '../collection.ts'
import { commitRemove } from '../engine/commit.ts'
import { represent } from '../response/representation.ts'
import { getCollectionPath } from '../request/request.ts'
import type { Request } from '../request/request.ts'
import { renderWritten } from '../response/write-response.ts'
import type { Entry } from '../storage/contract.ts'

/** DELETE of an item. Returns the removed item if the client prefers that. */
export function remove (collection: Collection, request: Request): Promise<Result> {
  const { return: preferred } = request.preferences
  const returnsItem = preferred === undefined ? collection.attached.returnsRemoved : preferred === 'representation'
  return commitRemove(collection, request, {
    needsItem: returnsItem || dependsOnItem(request),
    respond: (removed) => {
      return returnsItem && removed !== undefined ? respondWithItem(collection, request, removed) : noContent()
    }
  })
}

function respondWithItem (collection: Collection, request: Request, removed: Entry<object>): Response {
  const { format, preferences: { return: preferred } } = request
  const content = renderWritten(collection, request, () => {
    return represent(request.presentation, removed, { format, path: getCollectionPath(request) }).content
  })
  if (content === undefined) return noContent()
  return ok(content, { 'content-type': format.mediaType }, preferred && { return: 'representation' })
}
