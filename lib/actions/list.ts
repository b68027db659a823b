import type { Result } from '../action.ts'
import type { Collection } from '../collection.ts'
import { Problem } from '../http/problems.ts'
import { buildPage } from './page.ts'
import { parseListQuery } from '../listing/query-string.ts'
import type { Request } from '../request/request.ts'

/** GET and HEAD of the collection: a page of its items. */
export async function list (collection: Collection, request: Request): Promise<Result> {
  const listQuery = parseListQuery(request.view.lists, request)
  return listQuery instanceof Problem ? listQuery : buildPage(collection, request, listQuery)
}
