import { notModified, ok } from '../response/response.ts'
import type { Result } from '../action.ts'
import type { HeaderFields } from '../response/response.ts'
import { isNotModified } from '../items/preconditions.ts'
import type { Collection } from '../collection.ts'
import type { Links } from '../formats/format.ts'
import { conditional } from '../http/preconditions.ts'
import type { Preferences } from '../http/prefer.ts'
import { Problem } from '../http/problems.ts'
import { buildListLinkHeader } from '../response/links.ts'
import { representList, buildEtag, hashVersions, joinVersions } from '../response/representation.ts'
import type { Request } from '../request/request.ts'
import type { Page } from '../storage/contract.ts'
import { markPersonal, buildView } from '../response/view.ts'
import { findEntries } from './entries.ts'
import { keep, recall } from './kept.ts'
import { limitLength } from './page-length.ts'
import { pageLinks } from './pages.ts'
import { logUnreadable } from './unreadable.ts'
import type { Question } from './question.ts'

/** The page of a list that answers a question. */
export async function page (collection: Collection, request: Request, question: Question): Promise<Result> {
  const { format, path, search } = request
  const listed = await findEntries(collection, question, request.context)
  if (listed instanceof Problem) return listed
  const { page: found, query } = listed
  logUnreadable(collection.name, found, request.original)
  const view = question.fields === undefined && question.features === undefined ? undefined : await buildView(collection, found.entries, { question, request })
  const versionsFound = joinVersions(collection, found, view)
  // A question in the content has no URI by which it could be known again.
  const keeps = view === undefined && format.join !== undefined && request.content === undefined
  const known = keeps ? recall(collection, request, { versions: versionsFound, total: found.total }) : undefined
  const page = known === undefined ? limitLength(collection, found, { query, question, view }) : found
  if (page instanceof Problem) return page
  const versions = page === found ? versionsFound : joinVersions(collection, page, view)
  const links = known === undefined ? pageLinks(collection, request, { page, query, question }) : {}
  const fields = known?.fields ?? fieldsOf(collection, request, { page, question, links, etag: buildEtag(collection, hashVersions(versions), format) })
  const applied = appliedOf(request, { page, question })
  if (conditional(request.fields)) {
    const isKnown = isNotModified(collection, request, { tag: fields.etag!, modified: undefined })
    if (isKnown instanceof Problem) return isKnown
    if (isKnown) return markPersonal(view, notModified(fields, applied))
  }
  if (known !== undefined) return ok(known.content, known.whole, applied)
  const carried = () => ({ self: { href: search === '' ? path : `${path}?${search}` }, ...links })
  const content = representList(collection, page.entries, { format, path, links: carried, view })
  const whole = { ...fields, 'content-type': format.mediaType }
  if (keeps) keep(collection, request, { versions, total: page.total, fields, whole, content })
  return markPersonal(view, ok(content, whole, applied))
}

function fieldsOf (collection: Collection, request: Request, { page, question, links, etag }: { page: Page<object>, question: Question, links: Links, etag: string }): HeaderFields {
  const fields: Record<string, string> = { etag }
  for (const hook of collection.attached.hooks.onPage) {
    Object.assign(fields, hook({ name: collection.name, parameters: request.query, offset: question.offset ?? 0, length: page.entries.length, total: page.total }))
  }
  const link = buildListLinkHeader(collection, links)
  if (link !== undefined) fields.link = link
  if (page.total !== undefined) fields['x-total-count'] = String(page.total)
  return fields
}

function appliedOf ({ preferences: { count } }: Request, { page: { total }, question: { lenient } }: { page: Page<object>, question: Question }): Preferences | undefined {
  const counted = count !== undefined && total !== undefined
  if (lenient !== true && !counted) return undefined
  return { ...lenient === true && { handling: 'lenient' }, ...counted && { count } }
}
