import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { buildPageContext } from './page-context.ts'
import { isProtected } from '../../engine/access/caller-dependence.ts'
import { notModified, withoutContent } from './response.ts'
import { isNotModified } from './preconditions.ts'
import type { Collection } from '../../engine/collection.ts'
import type { Content, Format } from '../../formats/format.ts'
import { getStatedPolicy, isPrivate } from '../../http/cache-control.ts'
import { addCoding } from '../../http/entity-tag.ts'
import { Problem } from '../../http/problems.ts'
import { changeRequest } from './request.ts'
import type { HttpRequest } from './request.ts'
import { logRenderFailure } from './write-response.ts'
import type { Action } from './trace-action.ts'

// Formats for people show a page: the content that the action would have sent, and what the caller can query and do.

interface PagedAction {
  readonly action: Action
  readonly at: 'collection' | 'item'
  /** Whether it only reads. */
  readonly safe: boolean
  /** Whether it responds with groups and figures. */
  readonly isAggregate: boolean
}

/** Makes the action respond with a page if the client requests such a format. */
export function withPage (collection: Collection, { action, at, safe, isAggregate }: PagedAction): Action {
  if (collection.http.formats.every(({ page }) => page === undefined)) return action
  const dependence = mustNotBeShared(collection, at)
  return async (request) => {
    const { page, headers: pageHeaders, hasLinks, ...format } = request.format
    const prepared = prepareRequest(request, safe)
    if (page === undefined) return action(prepared)

    const captured = captureContent(format, isAggregate)
    const response = await action(changeRequest(prepared, { format: captured.format }))
    if (response instanceof Problem) return response
    const { etag, 'last-modified': modified, ...rest } = response.headers
    const content = captured.getContent()
    if (content === undefined) return { ...response, headers: etag === undefined ? rest : { ...rest, etag } }

    let text: string
    try {
      const total = rest['x-total-count']
      const context = await buildPageContext(collection, prepared, { at, safe, tag: etag, total })
      text = page(content, context)
    } catch (thrown) {
      if (safe) throw thrown
      logRenderFailure(collection, request, thrown)
      return withoutContent({ ...response, headers: etag === undefined ? rest : { ...rest, etag } })
    }
    const tag = addCoding(etag ?? '""', hash('sha256', text).slice(0, digestLength))
    const headers = { ...rest, ...pageHeaders, ...etag !== undefined && { etag: tag } }
    // A page also changes with the caller and the collection, so it has no date.
    const isKnown = safe && isNotModified(request, { tag, modified: undefined })
    if (isKnown instanceof Problem) return isKnown
    if (isKnown) return { ...response, ...notModified(omitContentType(headers)), ...dependence }
    return { ...response, ...dependence, headers, content: text }
  }
}

/** A page shows its caller. A shared cache must not send it to another one, even if the items are the same for all. */
function mustNotBeShared (collection: Collection, at: PagedAction['at']): { readonly dependsOnCaller?: true } {
  const policy = getStatedPolicy(at === 'collection' ? collection.http.cache.list : collection.http.cache.read)
  return isProtected(collection) && policy !== undefined && !isPrivate(policy) ? { dependsOnCaller: true } : {}
}

function prepareRequest (request: HttpRequest, safe: boolean): HttpRequest {
  if (!safe) return withItemTags(request)
  return request.format.page === undefined ? request : withoutConditions(request)
}

function omitContentType ({ 'content-type': type, ...rest }: Record<string, string>): Record<string, string> {
  return rest
}

/** A format that keeps the content instead of writing it. */
function captureContent (
  format: Format,
  isAggregate: boolean
): { format: Format, getContent: () => Content | undefined } {
  let content: Content | undefined
  const capture = (given: Content): string => {
    content = given
    return ''
  }
  return {
    format: {
      ...format,
      item: (item, links) => capture({ item, links, isAggregate }),
      list: (items, links) => capture({ items, links })
    },
    getContent: () => content
  }
}

const digestLength = 16

/** RFC 9110, section 8.8.3.3: the digest of the page at the end of its entity tag. */
const pageDigests = new RegExp(`-[0-9a-f]{${digestLength}}(?=(?:-[a-z]+)?")`, 'g')

/** The preconditions of a write are about the item, whatever page its entity tag was read from. */
function withItemTags (request: HttpRequest): HttpRequest {
  const { 'if-match': match, 'if-none-match': none } = request.headers
  if (match === undefined && none === undefined) return request
  const headers = { ...request.headers }
  if (match !== undefined) headers['if-match'] = match.replace(pageDigests, '')
  if (none !== undefined) headers['if-none-match'] = none.replace(pageDigests, '')
  return changeRequest(request, { headers })
}

const noConditions: IncomingHttpHeaders = {
  'if-match': undefined,
  'if-none-match': undefined,
  'if-modified-since': undefined,
  'if-unmodified-since': undefined
}

/** Preconditions are evaluated for the page once it is rendered. Empty inputs of a form are ignored. */
function withoutConditions (request: HttpRequest): HttpRequest {
  const search = request.search.split('&').filter((parameter) => !/^[^=]*=?$/.test(parameter)).join('&')
  const query = Object.fromEntries(Object.entries(request.query).filter(([, value]) => value !== ''))
  return changeRequest(request, { search, query, headers: { ...request.headers, ...noConditions } })
}
