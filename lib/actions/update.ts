import type { Answer } from '../answer.ts'
import type { Collection } from '../definition.ts'
import { tell, write } from '../entry.ts'
import { updated } from '../item.ts'
import { patched } from '../patch.ts'
import type { Request } from '../request.ts'
import { amended } from '../written.ts'

/** PATCH of an item: the fields to change, of what is there. */
export async function update (collection: Collection, request: Request): Promise<Answer> {
  const { before, after } = await write(collection, request, {
    revise: before => updated(collection, request, { result: patched(collection, request, before.item), before }),
    answer: amended
  })
  if (collection.hooks.changed) await tell(collection, { action: 'update', before: before?.item, after: after.item, request: request.original })
  return amended(collection, request, after)
}
