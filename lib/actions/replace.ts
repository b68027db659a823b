import { may } from '../access.ts'
import type { Answer } from '../answer.ts'
import { readContent } from '../content.ts'
import type { Collection } from '../definition.ts'
import { tell, write } from '../entry.ts'
import { drafted, replaced } from '../item.ts'
import { itemPath } from '../links.ts'
import { completed } from '../profiles/profiles.ts'
import { parentPath } from '../request.ts'
import type { Request } from '../request.ts'
import { written } from '../written.ts'

/** PUT of an item: the complete representation takes the place of the one before. */
export async function replace (collection: Collection, request: Request): Promise<Answer> {
  const creates = collection.replace.creates && (collection.guard === undefined || await may(collection, 'create', request.original))
  const { before, after } = await write(collection, request, {
    revise: before => replaced(collection, request, { content: completed(collection, readContent(collection, request), before.item), before }),
    create: creates ? id => drafted(collection, request, { content: readContent(collection, request), id }) : undefined
  })
  const path = parentPath(request)
  if (collection.hooks.changed) await tell(collection, { action: before === undefined ? 'create' : 'replace', before: before?.item, after: after.item, request: request.original })
  return written(collection, request, {
    entry: after,
    status: before === undefined ? 201 : 200,
    path: { collection: path, item: itemPath(path, after.id) },
    sent: collection.replace.tag ? undefined : request.content
  })
}
