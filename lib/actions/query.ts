import type { Answer } from '../answer.ts'
import { parsed } from '../content.ts'
import type { Collection } from '../definition.ts'
import { parseIJson } from '../formats/i-json.ts'
import { equalGet } from '../listing/equal-get.ts'
import { page } from '../listing/page.ts'
import { askedInContent } from '../listing/query-content.ts'
import { askedInString } from '../listing/query-string.ts'
import { joined } from '../listing/question.ts'
import type { Request } from '../request.ts'

/** QUERY of the collection (RFC 10008): a page of it, as GET, with the question in the content. */
export async function query (collection: Collection, request: Request): Promise<Answer> {
  const question = joined(askedInString(collection, request), askedInContent(collection, parsed(request, parseIJson, collection.schema)))
  const search = equalGet(collection, question)
  // Its pages are those of the equal GET, so that they can be followed by either method; without one, only the cursor is new.
  if (search === undefined) return page(collection, request, question)
  const answer = await page(collection, { ...request, search }, question)
  return { ...answer, fields: { ...answer.fields, 'content-location': search === '' ? request.path : `${request.path}?${search}` } }
}
