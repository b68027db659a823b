import { notModified, ok } from '../answer.ts'
import type { Answer } from '../answer.ts'
import { unmodified } from '../conditions.ts'
import type { Collection } from '../definition.ts'
import { find } from '../entry.ts'
import { conditional } from '../http/preconditions.ts'
import { modifiedOf, represent, tagOf, entryFields } from '../representation.ts'
import { parentPath } from '../request.ts'
import type { Request } from '../request.ts'

/** GET and HEAD of an item. */
export async function read (collection: Collection, request: Request): Promise<Answer> {
  const { format, fields } = request
  const entry = await find(collection, request)
  if (conditional(fields) && unmodified(request, { tags: [tagOf(entry.version, format)], modified: modifiedOf(collection, entry) })) {
    return notModified(entryFields(collection, entry, [format, parentPath(request)]))
  }
  const representation = represent(collection, entry, [format, parentPath(request)])
  return ok(representation.content, representation.fields)
}
