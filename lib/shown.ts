import { notModified, ok } from './answer.ts'
import type { Result } from './action.ts'
import { isNotModified } from './conditions.ts'
import type { Collection } from './definition.ts'
import { conditional } from './http/preconditions.ts'
import type { Preferences } from './http/prefer.ts'
import { Problem } from './http/problems.ts'
import { entryFields, modifiedOf, represent, representSeen, seenFields } from './representation.ts'
import { parentPath } from './request.ts'
import type { Request } from './request.ts'
import type { Entry } from './storage/contract.ts'
import { answered } from './view.ts'
import type { View } from './view.ts'

interface Shown {
  readonly entry: Entry<object>
  /** How the client wants to see it, other than as it is. */
  readonly view?: View | undefined
  readonly lenient: boolean
}

/** The answer to a GET of an item, or that the client has it already. */
export function shown (collection: Collection, request: Request, { entry, view, lenient }: Shown): Result {
  const { format, fields } = request
  const applied: Preferences | undefined = lenient ? { handling: 'lenient' } : undefined
  const wanted = { format, path: parentPath(request) }
  if (conditional(fields)) {
    const known = view === undefined ? entryFields(collection, entry, wanted) : seenFields(collection, entry, { ...wanted, view })
    const modified = view === undefined || view.additions.length === 0 ? modifiedOf(collection, entry) : undefined
    const isKnown = isNotModified(collection, request, { tag: known.etag!, modified })
    if (isKnown instanceof Problem) return isKnown
    if (isKnown) return answered(view, notModified(known, applied))
  }
  const representation = view === undefined ? represent(collection, entry, wanted) : representSeen(collection, entry, { ...wanted, view })
  return answered(view, ok(representation.content, representation.fields, applied))
}
