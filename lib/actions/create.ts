import type { Result } from '../action.ts'
import { readContent } from '../request/content.ts'
import type { Collection } from '../collection.ts'
import { Problem } from '../http/problems.ts'
import { commitCreate } from '../engine/commit.ts'
import { buildItem } from '../engine/build.ts'
import type { Request } from '../request/request.ts'
import { respondToCreate } from '../response/write-response.ts'

/** POST to the collection: creates an item. */
export async function create (collection: Collection, request: Request): Promise<Result> {
  const content = readContent(collection, request)
  if (content instanceof Problem) return content
  const item = await buildItem(collection, request, { kind: 'create', content: content.value })
  if (item instanceof Problem) return item
  return commitCreate(collection, request, {
    item,
    respond: ({ after }) => respondToCreate(collection, request, after)
  })
}
