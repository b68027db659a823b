import { noContent, ok } from '../answer.ts'
import type { Answer } from '../answer.ts'
import type { Collection } from '../definition.ts'
import { take, tell } from '../entry.ts'
import { showsRemoved } from '../profiles/profiles.ts'
import { represent } from '../representation.ts'
import { parentPath } from '../request.ts'
import type { Request } from '../request.ts'
import type { Entry } from '../storage/contract.ts'

/** DELETE of an item. */
export function remove (collection: Collection, request: Request): Promise<Answer> {
  const { return: preferred } = request.preferences
  const shown = preferred === undefined ? showsRemoved(collection) : preferred === 'representation'
  return take(collection, request, shown || collection.hooks.changed).then(before => before === undefined ? noContent() : removed(collection, request, { before, shown }))
}

async function removed (collection: Collection, request: Request, { before, shown }: { before: Entry<object>, shown: boolean }): Promise<Answer> {
  if (collection.hooks.changed) await tell(collection, { action: 'remove', before: before.item, after: undefined, request: request.original })
  if (!shown) return noContent()
  const { content, fields: { 'content-type': type = '' } } = represent(collection, before, { format: request.format, path: parentPath(request) })
  const answer = ok(content, { 'content-type': type })
  return request.preferences.return === undefined ? answer : { ...answer, applied: { return: 'representation' } }
}
