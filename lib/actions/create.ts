import type { Answer } from '../answer.ts'
import { createAll } from '../bulk.ts'
import { checkList } from '../conditions.ts'
import { readContent } from '../content.ts'
import type { Collection } from '../definition.ts'
import { tell } from '../entry.ts'
import { drafted } from '../item.ts'
import { conditional } from '../http/preconditions.ts'
import { receipted } from '../receipt.ts'
import { problemOfRefusal, refused } from '../refusal.ts'
import type { Request } from '../request.ts'
import { made } from '../written.ts'

/** POST to the collection: a new item, or several. */
export async function create (collection: Collection, request: Request): Promise<Answer> {
  if (conditional(request.fields)) await checkList(collection, request)
  const content = readContent(collection, request)
  if (collection.bulk !== undefined && Array.isArray(content)) return createAll(collection, request, content)
  const draft = drafted(collection, request, { content })
  const item = collection.hooks.prepare ? await draft : draft
  const entry = await (request.keep === undefined
    ? collection.storage.insert(item, request.context)
    : receipted(collection, request, { write: storage => storage.insert(item, request.context), answer: entry => made(collection, request, entry) }))
  if (refused(entry)) throw problemOfRefusal(entry)
  if (collection.hooks.changed) await tell(collection, { action: 'create', before: undefined, after: entry.item, request: request.original })
  return made(collection, request, entry)
}
