import type { Result } from '../action.ts'
import { parseContent } from '../request/content.ts'
import type { Collection } from '../collection.ts'
import { parseIJson } from '../formats/i-json.ts'
import { Problem } from '../http/problems.ts'
import { buildEquivalentGet } from '../listing/equivalent-get.ts'
import { buildPage } from './page.ts'
import { parseQueryContent } from '../listing/query-content.ts'
import { parseListQuery } from '../listing/query-string.ts'
import { mergeQueries } from '../listing/list-query.ts'
import type { Request } from '../request/request.ts'

/** QUERY of the collection (RFC 10008): a page of its items, like GET, with the query in the content. */
export async function query (collection: Collection, request: Request): Promise<Result> {
  const inString = parseListQuery(request.view.lists, request)
  if (inString instanceof Problem) return inString
  const content = parseContent(request, parseIJson, collection.schema)
  if (content instanceof Problem) return content
  const inContent = parseQueryContent(request.view.lists, content.value)
  if (inContent instanceof Problem) return inContent

  const listQuery = mergeQueries(inString, inContent)
  const search = buildEquivalentGet(request.view.lists, listQuery)
  if (search === undefined) return buildPage(collection, request, listQuery)
  // The links are those of the equivalent GET, so that clients can follow them with either method.
  const result = await buildPage(collection, { ...request, search }, listQuery)
  if (result instanceof Problem) return result
  const location = search === '' ? request.path : `${request.path}?${search}`
  return { ...result, fields: { ...result.fields, 'content-location': location } }
}
