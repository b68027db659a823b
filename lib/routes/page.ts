import { notModified, ok } from '../response/response.ts'
import type { Headers, Result } from '../response/response.ts'
import type { PageOutcome } from '../engine/operation.ts'
import { isNotModified } from '../engine/preconditions.ts'
import type { Collection } from '../collection.ts'
import type { Links } from '../formats/format.ts'
import { isConditional } from '../http/preconditions.ts'
import { Problem } from '../http/problems.ts'
import { buildListLinkHeader } from '../response/links.ts'
import { applySelection } from '../response/selection.ts'
import { representList, buildEtag, hashVersions, joinVersions } from '../response/representation.ts'
import type { Request } from '../request/request.ts'
import type { Page } from '../storage/contract.ts'
import { limitPageLength } from '../listing/page-length.ts'
import { buildPageLinks } from '../listing/page-links.ts'
import type { ListQuery } from '../listing/list-query.ts'
import { getSelection, markDependence } from './select.ts'

/** Builds the response with a page of a list. */
export function buildPage (collection: Collection, request: Request, outcome: PageOutcome): Result {
  const { format, path, search, view: { type }, presentation } = request
  const { page: found, query, listQuery, lists } = outcome

  const selection = getSelection(outcome)
  const shown = found.entries.map((entry) => applySelection(type, entry, selection, format.embed))
  const limited = limitPageLength({ page: found, items: shown }, { query, listQuery })
  if (limited instanceof Problem) return limited
  const { page, items } = limited
  const links = buildPageLinks(lists, request, { page, query, listQuery })
  const etag = buildEtag(presentation, hashVersions(joinVersions(presentation, page, selection)), format)
  const headers = buildHeaders(collection, request, { page, listQuery, links, etag })

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

interface PageDetails {
  readonly page: Page<object>
  readonly listQuery: ListQuery
  readonly links: Links
  readonly etag: string
}

function buildHeaders (
  collection: Collection,
  request: Request,
  { page, listQuery, links, etag }: PageDetails
): Headers {
  const headers: Record<string, string> = { etag }
  for (const hook of collection.attached.hooks.onPage) {
    Object.assign(headers, hook({
      name: collection.name,
      parameters: request.query,
      offset: listQuery.offset ?? 0,
      length: page.entries.length,
      total: page.total
    }))
  }
  const link = buildListLinkHeader(request.presentation, links)
  if (link !== undefined) headers.link = link
  if (page.total !== undefined) headers['x-total-count'] = String(page.total)
  return headers
}
