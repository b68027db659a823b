import { notModified, ok } from '../answer.ts'
import type { Answer } from '../answer.ts'
import { unmodified } from '../conditions.ts'
import type { Collection } from '../definition.ts'
import { viewOf } from '../expansion.ts'
import type { Preferences } from '../http/prefer.ts'
import { listLink } from '../links.ts'
import { listFields } from '../profiles/profiles.ts'
import { representList, tagOf, versionOfList } from '../representation.ts'
import type { Request } from '../request.ts'
import type { Page } from '../storage/contract.ts'
import { entries } from './entries.ts'
import { pageLinks } from './pages.ts'
import type { Question } from './question.ts'

/** The page of a list that answers a question. */
export async function page (collection: Collection, request: Request, question: Question): Promise<Answer> {
  const { format, path, search } = request
  const { page, query } = await entries(collection, question, request.context)
  const view = question.fields === undefined && question.expand === undefined ? undefined : await viewOf(collection, page.entries, { ...question, context: request.context })
  const etag = tagOf(versionOfList(collection, page, view), format)
  const links = pageLinks(collection, request, { page, query, question })
  const fields: Record<string, string> = { etag }
  if (collection.profiles.length > 0) Object.assign(fields, listFields(collection, request, { question, page }))
  const link = listLink(collection, links)
  if (link !== undefined) fields.link = link
  if (page.total !== undefined) fields['x-total-count'] = String(page.total)
  const applied = appliedOf(request, { page, question })
  if (unmodified(request, { tags: [etag], modified: undefined })) return notModified(fields, applied)
  fields['content-type'] = format.mediaType
  const carried = () => ({ self: { href: search === '' ? path : `${path}?${search}` }, ...links })
  return ok(representList(collection, page.entries, { format, path, links: carried, view }), fields, applied)
}

function appliedOf ({ preferences: { count } }: Request, { page: { total }, question: { lenient } }: { page: Page<object>, question: Question }): Preferences | undefined {
  const counted = count !== undefined && total !== undefined
  if (lenient !== true && !counted) return undefined
  return { ...lenient === true && { handling: 'lenient' }, ...counted && { count } }
}
