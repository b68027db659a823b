import { noContent, ok } from '../answer.ts'
import type { Answer } from '../answer.ts'
import type { Collection } from '../definition.ts'
import { take, tell } from '../entry.ts'
import { showsRemoved } from '../profiles/profiles.ts'
import { represent } from '../representation.ts'
import { parentPath } from '../request.ts'
import type { Request } from '../request.ts'

/** DELETE of an item. */
export async function remove (collection: Collection, request: Request): Promise<Answer> {
  const { return: preferred } = request.preferences
  const shown = preferred === undefined ? showsRemoved(collection) : preferred === 'representation'
  const before = await take(collection, request, shown || collection.hooks.changed)
  if (before !== undefined && collection.hooks.changed) await tell(collection, { action: 'remove', before: before.item, after: undefined, request: request.original })
  if (before === undefined || !shown) return noContent()
  const { content, fields: { 'content-type': type = '' } } = represent(collection, before, { format: request.format, path: parentPath(request) })
  const answer = ok(content, { 'content-type': type })
  return preferred === undefined ? answer : { ...answer, applied: { return: 'representation' } }
}
