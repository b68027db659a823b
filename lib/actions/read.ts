import { notModified, ok } from '../answer.ts'
import type { Answer } from '../answer.ts'
import { unmodified } from '../conditions.ts'
import type { Collection } from '../definition.ts'
import { found, sought } from '../entry.ts'
import { viewOf } from '../expansion.ts'
import { conditional } from '../http/preconditions.ts'
import type { Preferences } from '../http/prefer.ts'
import { askedOfItem } from '../listing/query-string.ts'
import { entryFields, modifiedOf, represent, representSeen, seenFields } from '../representation.ts'
import { parentPath } from '../request.ts'
import type { Request } from '../request.ts'
import { answered } from '../view.ts'

/** GET and HEAD of an item. */
export async function read (collection: Collection, request: Request): Promise<Answer> {
  const { format, fields } = request
  const question = askedOfItem(collection, request)
  const applied: Preferences | undefined = question.lenient === true ? { handling: 'lenient' } : undefined
  const entry = found(await sought(collection, request))
  const wanted = { format, path: parentPath(request) }
  const view = question.fields === undefined && question.expand === undefined ? undefined : await viewOf(collection, [entry], { ...question, request })
  if (conditional(fields)) {
    const known = view === undefined ? entryFields(collection, entry, wanted) : seenFields(collection, entry, { ...wanted, view })
    const modified = view?.expansion === undefined ? modifiedOf(collection, entry) : undefined
    if (unmodified(request, { tag: known.etag!, modified })) return answered(view, notModified(known, applied))
  }
  const representation = view === undefined ? represent(collection, entry, wanted) : representSeen(collection, entry, { ...wanted, view })
  return answered(view, ok(representation.content, representation.fields, applied))
}
