import { notModified, ok } from '../response/response.ts'
import type { Headers, Result } from '../response/response.ts'
import type { PageOutcome } from '../engine/operation.ts'
import { isNotModified } from '../engine/preconditions.ts'
import type { Collection } from '../collection.ts'
import type { Links } from '../formats/format.ts'
import { isConditional } from '../http/preconditions.ts'
import { Problem } from '../http/problems.ts'
import { buildListLinkHeader } from '../response/links.ts'
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
  const { page: foundPage, query, listQuery, lists, related } = outcome

  const selection = getSelection(outcome)
  const foundVersions = joinVersions(presentation, foundPage, selection)
  // A query in the content has no URI that could be the key of a cache.
  const isPlain = selection === undefined && related === undefined
  const isCacheable = isPlain && format.join !== undefined && request.content === undefined
  const cached = isCacheable
    ? presentation.pages.get(request, { versions: foundVersions, total: foundPage.total })
    : undefined

  const page = cached === undefined ? limitPageLength(type, foundPage, { query, listQuery, selection }) : foundPage
  if (page instanceof Problem) return page
  const versions = page === foundPage ? foundVersions : joinVersions(presentation, page, selection)
  const links = cached === undefined ? buildPageLinks(lists, request, { page, query, listQuery }) : {}
  const headers = cached?.headers ?? buildHeaders(collection, request, {
    page,
    listQuery,
    links,
    etag: buildEtag(presentation, hashVersions(versions), format)
  })

  if (isConditional(request.headers)) {
    const isKnown = isNotModified(request, { tag: headers.etag!, modified: undefined })
    if (isKnown instanceof Problem) return isKnown
    if (isKnown) return markDependence(collection, outcome, notModified(headers))
  }
  if (cached !== undefined) return ok(cached.content, cached.whole)

  const getLinks = () => ({ self: { href: search === '' ? path : `${path}?${search}` }, ...links })
  const content = representList(presentation, page.entries, {
    format,
    path,
    links: getLinks,
    selection
  })
  const whole = { ...headers, 'content-type': format.mediaType }
  if (isCacheable) presentation.pages.add(request, { versions, total: page.total, headers, whole, content })
  return markDependence(collection, outcome, ok(content, whole))
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
