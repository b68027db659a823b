import { notModified, ok } from '../answer.ts'
import type { Answer } from '../answer.ts'
import { unmodified } from '../conditions.ts'
import type { Collection } from '../definition.ts'
import { find } from '../entry.ts'
import { conditional } from '../http/preconditions.ts'
import { askedFields } from '../listing/query-string.ts'
import { entryFields, modifiedOf, represent, representSelected, tagOf, versionOfSelected } from '../representation.ts'
import { parentPath } from '../request.ts'
import type { Request } from '../request.ts'

/** GET and HEAD of an item. */
export async function read (collection: Collection, request: Request): Promise<Answer> {
  const { format, fields } = request
  const selected = askedFields(collection, request)
  const entry = await find(collection, request)
  const path = parentPath(request)
  if (conditional(fields)) {
    const etag = tagOf(versionOfSelected(entry, selected), format)
    if (unmodified(request, { tags: [etag], modified: modifiedOf(collection, entry) })) return notModified({ ...entryFields(collection, entry, [format, path]), etag })
  }
  const representation = selected === undefined ? represent(collection, entry, [format, path]) : representSelected(collection, entry, { format, path, selected })
  return ok(representation.content, representation.fields)
}
