import type { Answer } from '../answer.ts'
import type { Collection } from '../definition.ts'
import { write } from '../entry.ts'
import type { Decisions } from '../entry.ts'
import { updated } from '../item.ts'
import { patched } from '../patch.ts'
import type { Request } from '../request.ts'
import { amended } from '../written.ts'

const decisions: Decisions = {
  action: 'update',
  revise: (collection, request, before) => updated(collection, request, { result: patched(collection, request, before.item), before }),
  answer: (collection, request, { after }) => amended(collection, request, after)
}

/** PATCH of an item: the fields to change, of what is there. */
export function update (collection: Collection, request: Request): Promise<Answer> {
  return write(collection, request, decisions)
}
