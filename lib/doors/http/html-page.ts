import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { buildPageContext } from './page-context.ts'
import { isProtected } from '../../engine/access/caller-dependence.ts'
import { notModified, withoutContent } from './response.ts'
import { isNotModified } from './preconditions.ts'
import type { ActionInfo } from '../../engine/action-info.ts'
import type { Collection } from '../../engine/collection.ts'
import type { Rendering } from '../../engine/rendering.ts'
import type { Content } from '../../formats/format.ts'
import { getStatedPolicy, isPrivate } from '../../http/cache-control.ts'
import { addCoding } from '../../http/entity-tag.ts'
import { Problem } from '../../http/problems.ts'
import { changeRequest } from './request.ts'
import type { HttpRequest } from './request.ts'
import { logWriteFailure, respond } from './respond.ts'
import type { Writer } from './respond.ts'
import type { Result } from './response.ts'

// Formats for people show a page: the content that the action would have sent, and what the caller can query and do.

/** Responds with a page. `received` is the request before it was prepared. */
export async function respondWithHtml (
  received: HttpRequest,
  request: HttpRequest,
  rendering: Rendering
): Promise<Result> {
  const { action: { at, query, reads }, collection, format: { page, headers: pageHeaders } } = request
  const { writer, getContent } = captureContent(query === 'groups')
  const response = respond(request, rendering, writer)
  if (response instanceof Problem) return response
  const { etag, 'last-modified': modified, ...rest } = response.headers
  const content = getContent()
  if (content === undefined) return { ...response, headers: etag === undefined ? rest : { ...rest, etag } }

  let text: string
  try {
    const total = rest['x-total-count']
    const context = await buildPageContext(collection, request, { at, safe: reads, tag: etag, total })
    text = page!(content, context)
  } catch (thrown) {
    if (reads) throw thrown
    logWriteFailure(request, thrown)
    return withoutContent({ ...response, headers: etag === undefined ? rest : { ...rest, etag } })
  }
  const dependence = mustNotBeShared(collection, at)
  const tag = addCoding(etag ?? '""', hash('sha256', text).slice(0, digestLength))
  const headers = { ...rest, ...pageHeaders, ...etag !== undefined && { etag: tag } }
  // A page also changes with the caller and the collection, so it has no date.
  const isKnown = reads && isNotModified(received, { tag, modified: undefined })
  if (isKnown instanceof Problem) return isKnown
  if (isKnown) return { ...response, ...notModified(headers), ...dependence }
  return { ...response, ...dependence, headers, content: text }
}

/** A page shows its caller. A shared cache must not send it to another one, even if the items are the same for all. */
function mustNotBeShared (collection: Collection, at: ActionInfo['at']): { readonly dependsOnCaller?: true } {
  const policy = getStatedPolicy(at === 'collection' ? collection.http.cache.list : collection.http.cache.read)
  return isProtected(collection) && policy !== undefined && !isPrivate(policy) ? { dependsOnCaller: true } : {}
}

/** Removes what pages and their forms add to a request. */
export function prepareRequest (request: HttpRequest): HttpRequest {
  if (!request.action.reads) return withItemTags(request)
  return request.format.page === undefined ? request : withoutConditions(request)
}

/** A writer that keeps the content instead of writing it. */
function captureContent (isAggregate: boolean): { writer: Writer, getContent: () => Content | undefined } {
  let content: Content | undefined
  const capture = (given: Content): string => {
    content = given
    return ''
  }
  return {
    writer: {
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
