import type { Answer } from '../answer.ts'
import type { Collection } from '../definition.ts'
import { page } from '../listing/page.ts'
import { askedInString } from '../listing/query-string.ts'
import type { Request } from '../request.ts'

/** GET and HEAD of the collection: a page of it. */
export function list (collection: Collection, request: Request): Promise<Answer> {
  return page(collection, request, askedInString(collection, request))
}
