import type { Result } from '../action.ts'
import { noContent, ok } from '../response/response.ts'
import { dependsOnItem } from '../items/preconditions.ts'
import type { Collection } from '../collection.ts'
import { Problem } from '../http/problems.ts'
import { commitRemove } from '../items/commit.ts'
import { represent } from '../response/representation.ts'
import { getCollectionPath } from '../request/request.ts'
import type { Request } from '../request/request.ts'
import { renderWritten } from '../response/write-response.ts'

/** DELETE of an item. Returns the removed item if the client prefers that. */
export async function remove (collection: Collection, request: Request): Promise<Result> {
  const { format, preferences: { return: preferred } } = request
  const returnsItem = preferred === undefined ? collection.attached.returnsRemoved : preferred === 'representation'
  const needsItem = returnsItem || dependsOnItem(collection, request)
  const removed = await commitRemove(collection, request, { needsItem })
  if (removed instanceof Problem) return removed
  if (!returnsItem || removed === undefined) return noContent()
  const content = renderWritten(collection, request, () => {
    return represent(collection, removed, { format, path: getCollectionPath(request) }).content
  })
  if (content === undefined) return noContent()
  return ok(content, { 'content-type': format.mediaType }, preferred && { return: 'representation' })
}
