import { may } from '../access.ts'
import type { Answer } from '../answer.ts'
import { readContent } from '../content.ts'
import type { Collection } from '../definition.ts'
import { drafted } from '../draft.ts'
import { write } from '../entry.ts'
import type { Decisions } from '../entry.ts'
import { replaced } from '../item.ts'
import { itemPath } from '../links.ts'
import { completed } from '../profiles/profiles.ts'
import { parentPath } from '../request.ts'
import type { Request } from '../request.ts'
import { written } from '../written.ts'

const changing: Decisions = {
  action: 'replace',
  revise: (collection, request, before) => replaced(collection, request, { content: completed(collection, readContent(collection, request), before.item), before }),
  answer (collection, request, { before, after }) {
    const path = parentPath(request)
    return written(collection, request, {
      entry: after,
      status: before === undefined ? 201 : 200,
      path: { collection: path, item: before === undefined ? itemPath(path, after.id) : request.path },
      sent: collection.replace.tag ? undefined : request.content
    })
  }
}

const creating: Decisions = {
  ...changing,
  create: (collection, request, id) => drafted(collection, request, { content: readContent(collection, request), id })
}

/** PUT of an item: the complete representation takes the place of the one before, or of none. */
export function replace (collection: Collection, request: Request): Promise<Answer> {
  const { guard, replace: { creates } } = collection
  if (!creates || guard === undefined) return write(collection, request, creates ? creating : changing)
  return may(collection, 'create', request.original).then(permitted => write(collection, request, permitted ? creating : changing))
}
