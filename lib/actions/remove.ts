import type { Action } from '../action.ts'
import { noContent, ok } from '../answer.ts'
import type { Answer } from '../answer.ts'
import { looks } from '../conditions.ts'
import type { Collection } from '../definition.ts'
import { discard, take, tell } from '../entry.ts'
import { showsRemoved } from '../profiles/profiles.ts'
import { represent } from '../representation.ts'
import { parentPath } from '../request.ts'
import type { Request } from '../request.ts'
import type { Entry } from '../storage/contract.ts'
import { renderWritten } from '../written.ts'

/** DELETE of an item. */
export const remove: Action = (collection, request) => {
  const { return: preferred } = request.preferences
  const shown = preferred === undefined ? showsRemoved(collection) : preferred === 'representation'
  if (!shown && !collection.hooks.changed && !looks(collection, request)) return discard(collection, request)
  return take(collection, request).then(before => removed(collection, request, { before, shown }))
}

async function removed (collection: Collection, request: Request, { before, shown }: { before: Entry<object>, shown: boolean }): Promise<Answer> {
  if (collection.hooks.changed) await tell(collection, { action: 'remove', before: before.item, after: undefined, request: request.original })
  if (!shown) return noContent()
  const { format } = request
  const content = renderWritten(request, () => represent(collection, before, { format, path: parentPath(request) }).content)
  if (content === undefined) return noContent()
  const answer = ok(content, { 'content-type': format.mediaType })
  return request.preferences.return === undefined ? answer : { ...answer, applied: { return: 'representation' } }
}
