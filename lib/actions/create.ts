import type { Answer } from '../answer.ts'
import { createAll } from '../bulk.ts'
import { checkList } from '../conditions.ts'
import { readContent } from '../content.ts'
import type { Collection } from '../definition.ts'
import { tell } from '../entry.ts'
import { drafted } from '../item.ts'
import { conditional } from '../http/preconditions.ts'
import { itemPath } from '../links.ts'
import { problemOfRefusal, refused } from '../refusal.ts'
import type { Request } from '../request.ts'
import { written } from '../written.ts'

/** POST to the collection: a new item, or several. */
export async function create (collection: Collection, request: Request): Promise<Answer> {
  if (conditional(request.fields)) await checkList(collection, request)
  const content = readContent(collection, request)
  if (collection.bulk !== undefined && Array.isArray(content)) return createAll(collection, request, content)
  const draft = drafted(collection, request, { content })
  const entry = await collection.storage.insert(collection.hooks.prepare ? await draft : draft, request.context)
  if (refused(entry)) throw problemOfRefusal(entry)
  if (collection.hooks.changed) await tell(collection, { action: 'create', before: undefined, after: entry.item, request: request.original })
  return written(collection, request, { entry, status: 201, path: { collection: request.path, item: itemPath(request.path, entry.id) } })
}
