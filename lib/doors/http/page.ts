import { notModified, ok } from './response.ts'
import type { Result } from './response.ts'
import type { PageOutcome } from '../../engine/operation.ts'
import { isNotModified } from './preconditions.ts'
import type { Collection } from '../../engine/collection.ts'
import { isConditional } from '../../http/preconditions.ts'
import { Problem } from '../../http/problems.ts'
import { buildListLinkHeader } from './links.ts'
import { applySelection } from './selection.ts'
import { representList, buildEtag, hashVersions, joinVersions } from './representation.ts'
import type { HttpRequest } from './request.ts'
import { limitPageLength } from '../../query/page-length.ts'
import { buildPageLinks } from './page-links.ts'
import { getSelection, markDependence } from './select.ts'

/** Builds the response with a page of a list. */
export function buildPage (collection: Collection, request: HttpRequest, outcome: PageOutcome): Result {
  const { format, path, search, access: { view: { type } }, presentation } = request
  const { page: found, query, listQuery, lists } = outcome

  const selection = getSelection(outcome)
  const shown = found.entries.map((entry) => applySelection(type, entry, selection, format.embed))
  const limited = limitPageLength({ page: found, items: shown }, { query, listQuery })
  if (limited instanceof Problem) return limited
  const { page, items } = limited
  const links = buildPageLinks(lists, request, { page, query, listQuery })
  const etag = buildEtag(presentation, hashVersions(joinVersions(presentation, page, selection)), format)
  const link = buildListLinkHeader(presentation, links)
  const headers = {
    etag,
    ...link !== undefined && { link },
    ...page.total !== undefined && { 'x-total-count': String(page.total) }
  }

  if (isConditional(request.headers)) {
    const isKnown = isNotModified(request, { tag: etag, modified: undefined })
    if (isKnown instanceof Problem) return isKnown
    if (isKnown) return markDependence(collection, outcome, notModified(headers))
  }

  const content = representList(presentation, page.entries, {
    format,
    path,
    links: { self: { href: search === '' ? path : `${path}?${search}` }, ...links },
    items,
    selection,
    total: page.total
  })
  return markDependence(collection, outcome, ok(content, { ...headers, 'content-type': format.mediaType }))
}
