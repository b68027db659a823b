import type { Answer } from '../answer.ts'
import { createAll } from '../bulk.ts'
import { checkList } from '../conditions.ts'
import { readContent } from '../content.ts'
import type { Collection } from '../definition.ts'
import { tell } from '../entry.ts'
import { begun, draftOf } from '../draft.ts'
import { misfit } from '../item.ts'
import { namesTags } from '../http/preconditions.ts'
import type { Problem } from '../http/problems.ts'
import { needsTransaction, receipted } from '../receipt.ts'
import { problemOfRefusal, refused } from '../refusal.ts'
import type { Request } from '../request.ts'
import { made } from '../written.ts'

/** POST to the collection: a new item, or several. */
export function create (collection: Collection, request: Request): Promise<Answer | Problem> {
  if (!namesTags(request.fields)) return createOf(collection, request)
  return checkList(collection, request).then(checkAgain => createOf(collection, { ...request, checkAgain }))
}

function createOf (collection: Collection, request: Request): Promise<Answer | Problem> {
  const content = readContent(collection, request)
  if (collection.bulk !== undefined && Array.isArray(content)) return createAll(collection, request, content)
  const draft = draftOf(collection, request, { content })
  const refusal = misfit(collection.validate.draft, draft.content)
  if (refusal !== undefined) return Promise.resolve(refusal)
  const item = begun(collection, request, draft)
  // Without the hook it is there at once, and nothing is waited for.
  return collection.hooks.prepare ? Promise.resolve(item).then(item => insert(collection, request, item)) : insert(collection, request, item)
}

function insert (collection: Collection, request: Request, item: object): Promise<Answer | Problem> {
  const inserted = needsTransaction(request)
    ? receipted(collection, request, { write: storage => storage.insert(item, request.context), answer: entry => made(collection, request, entry) })
    : collection.storage.insert(item, request.context)
  return inserted.then(entry => {
    if (refused(entry)) return problemOfRefusal(entry)
    if (!collection.hooks.changed) return made(collection, request, entry)
    return tell(collection, { action: 'create', before: undefined, after: entry.item, request: request.original }).then(() => made(collection, request, entry))
  })
}
