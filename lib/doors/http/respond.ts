import type {
  EmptyRendering,
  ItemRendering,
  ListRendering,
  OutputRendering,
  Rendering
} from '../../engine/rendering.ts'
import type { Moved, PageOutcome } from '../../engine/operation.ts'
import { hashVersions } from '../../engine/selection.ts'
import { findJson } from '../../formats/entries.ts'
import type { Format, Formatted } from '../../formats/format.ts'
import { buildCacheGroups } from '../../http/cache-groups.ts'
import type { Links } from '../../http/link.ts'
import { freezeJson } from '../../http/json-value.ts'
import { formatLocation } from '../../http/location.ts'
import { isConditional } from '../../http/preconditions.ts'
import { Problem } from '../../http/problems.ts'
import { writeQuery } from '../../query/write-query.ts'
import type { ShownPage } from '../../query/page-length.ts'
import type { Entry } from '../../storage/contract.ts'
import { buildItemLinks, buildItemPath, buildListLinkHeader } from './links.ts'
import { buildPageLinks } from './page-links.ts'
import { isNotModified } from './preconditions.ts'
import { addItemHeaders, addLinkHeader, buildEtag, getRepresentationDate, tagVersion } from './representation.ts'
import { getCollectionPath, getTargetPath } from './request.ts'
import type { HttpRequest } from './request.ts'
import { moved, noContent, notModified, ok } from './response.ts'
import type { Headers, Response, Result } from './response.ts'

// Renderings as responses: headers, entity tags, 304, links, and content in a format.

/** Writes content. It is the format of the response, except for pages, which are built later. */
export type Writer = Pick<Format, 'item' | 'list' | 'hasLinks'>

/** Responds with what an operation has led to. */
export function respond (request: HttpRequest, rendering: Rendering, writer: Writer = request.format): Result {
  switch (rendering.kind) {
    case 'item': return (request.action.reads ? respondWithItem : respondToWrite)(request, rendering, writer)
    case 'list': return rendering.found === undefined
      ? respondWithCreated(request, rendering, writer)
      : respondWithPage(request, rendering, { writer, found: rendering.found })
    case 'output': return (request.action.reads ? respondWithOutput : respondWithResult)(request, rendering, writer)
    case 'empty': return respondWithoutContent(rendering)
    case 'moved': return respondWithMove(request, rendering)
  }
}

type Read = ItemRendering | ListRendering | OutputRendering

/** Returns 304 if the client has what was read already, or 412. It is asked before the content is written. */
function findKnown (request: HttpRequest, rendering: Read, headers: Headers): Result | undefined {
  if (!isConditional(request.headers)) return undefined
  const date = rendering.kind === 'item' ? rendering.modified : undefined
  const modified = getRepresentationDate(request.presentation, date)
  const isKnown = isNotModified(request, { tag: headers.etag!, modified })
  if (isKnown instanceof Problem) return isKnown
  return isKnown ? addDependence(request, rendering, notModified(headers)) : undefined
}

/**
 * A response that depends on other collections is in their cache groups, obeys their policies, and may depend on the
 * caller. One that is for its caller only is not stored, whatever the cache policy says.
 */
function addDependence ({ collection }: HttpRequest, { dependsOn, isPrivate }: Read, response: Response): Response {
  if (dependsOn === undefined && !isPrivate) return response
  const own = isPrivate ? { ...response.headers, 'cache-control': 'no-store' } : response.headers
  if (dependsOn === undefined) return { ...response, headers: own }
  const { name, http: { groups } } = collection
  const { dependsOnCaller, vary, policies = [], collections } = dependsOn
  return {
    ...response,
    policies,
    headers: groups === undefined ? own : { ...own, ...buildCacheGroups([...new Set([name, ...collections])]) },
    ...dependsOnCaller && { dependsOnCaller, vary: vary ?? [] }
  }
}

function respondWithItem (request: HttpRequest, rendering: ItemRendering, writer: Writer): Result {
  const headers = { 'content-type': request.format.mediaType }
  addItemHeaders(request, rendering, { path: findCollectionPath(request), headers })
  const known = findKnown(request, rendering, headers)
  if (known !== undefined) return known
  return addDependence(request, rendering, ok(writeItem(request, rendering, writer), headers))
}

/** The path of the collection that the target belongs to. */
function findCollectionPath (request: HttpRequest): string {
  return request.action.at === 'item' ? getCollectionPath(request) : request.path
}

function writeItem (request: HttpRequest, rendering: ItemRendering, writer: Writer): Formatted {
  const { format, presentation } = request
  const { entry } = rendering
  return writer.item(
    protectItem(format, rendering.show(format.embed?.write)),
    writer.hasLinks === false ? noLinks : buildContentLinks(request, rendering, entry),
    presentation.type.messages.read,
    format.hasTags === true ? tagVersion(presentation, entry.id, rendering.itemVersion) : undefined
  )
}

/** A format of an app cannot change an item, which the engine or another response may have as well. */
function protectItem (format: Format, item: object): object {
  return format.keepsItems === true ? item : freezeJson(item)
}

const noLinks: Links = Object.freeze({})

function buildContentLinks (
  request: HttpRequest,
  { selection }: ItemRendering | ListRendering,
  entry: Entry<object>
): Links {
  return buildItemLinks(request.presentation, entry, { path: findCollectionPath(request), fields: selection?.fields })
}

/** The response to a write: with the item, or without it if the client prefers that (RFC 7240, section 4.2). */
function respondToWrite (request: HttpRequest, rendering: ItemRendering, writer: Writer): Response {
  const { action, format, presentation } = request
  const content = writeResult(request, rendering, () => writeItem(request, rendering, writer))
  const applied = content === undefined ? 'minimal' : 'representation'
  const response: Pick<Response, 'content' | 'applied'> = {
    content,
    applied: rendering.applied === applied ? { return: applied } : undefined
  }
  if (rendering.isRemoved) {
    if (content === undefined) return noContent()
    return { ...response, status: 200, headers: { 'content-type': format.mediaType } }
  }
  const path = findCollectionPath(request)
  const isCreated = rendering.status === 201
  const itemPath = isCreated ? buildItemPath(path, rendering.entry.id) : request.path
  const headers: Record<string, string> = isCreated ? { location: itemPath } : {}
  if (content !== undefined) {
    headers['content-location'] = itemPath
    headers['content-type'] = format.mediaType
  }
  // RFC 9110, section 9.3.4: the response to a PUT has validators only if what was sent is stored unchanged.
  const hasValidators = action.key !== 'replace' || isSame(request.content, content)
  if (hasValidators) addItemHeaders(request, rendering, { path, headers })
  else addLinkHeader(presentation, path, headers)
  const status = content === undefined ? 204 : 200
  return { ...response, status: isCreated ? 201 : status, headers }
}

function isSame (sent: Buffer | undefined, content: Formatted | undefined): boolean {
  if (sent === undefined || content === undefined || sent.length !== Buffer.byteLength(content)) return false
  return sent.equals(typeof content === 'string' ? Buffer.from(content) : content)
}

/** Writes the content of the response to a write. If that fails, the write stays, and the response has no content. */
function writeResult (
  request: HttpRequest,
  { hasContent }: { readonly hasContent: boolean },
  write: () => Formatted
): Formatted | undefined {
  if (!hasContent) return undefined
  try {
    return write()
  } catch (err) {
    logWriteFailure(request, err)
    return undefined
  }
}

export function logWriteFailure ({ collection: { name }, original }: HttpRequest, err: unknown): void {
  const message = `the ${original.method} succeeded, but its response could not be rendered and is sent without content`
  original.log.error({ collection: name, err }, message)
}

interface PageParts {
  readonly writer: Writer
  readonly found: PageOutcome
}

/** RFC 10008: a QUERY has the links of the equivalent GET, so that clients can follow them with either method. */
function respondWithPage (request: HttpRequest, rendering: ListRendering, { writer, found }: PageParts): Result {
  const { action, format, path, presentation } = request
  const { query, listQuery, lists } = found
  const limited = rendering.showAll(format.embed?.write)
  if (limited instanceof Problem) return limited
  const { page } = limited
  const equivalent = action.takes === 'query' ? writeQuery(lists, listQuery) : undefined
  const search = equivalent ?? request.search
  const uri = search === '' ? path : `${path}?${search}`
  const links = buildPageLinks(lists, { path, search }, { page, query, listQuery })
  const link = buildListLinkHeader(presentation, links)
  const headers = {
    etag: buildEtag(presentation, rendering.getVersion(page), format),
    ...link !== undefined && { link },
    ...page.total !== undefined && { 'x-total-count': String(page.total) },
    'content-type': format.mediaType,
    ...equivalent !== undefined && { 'content-location': uri }
  }
  const known = findKnown(request, rendering, headers)
  if (known !== undefined) return known
  const list = { self: { href: uri }, ...links }
  return addDependence(request, rendering, ok(writeList(request, rendering, { writer, list, shown: limited }), headers))
}

interface ListParts {
  readonly writer: Writer
  /** The links of the list. */
  readonly list: Links
  readonly shown: ShownPage
}

function writeList (request: HttpRequest, rendering: ListRendering, { writer, list, shown }: ListParts): Formatted {
  const { format, presentation } = request
  const { page: { entries, total }, items } = shown
  const build = writer.hasLinks === false
    ? () => noLinks
    : (entry: Entry<object>) => buildContentLinks(request, rendering, entry)
  const links = { list, items: entries.map(build) }
  const tags = format.hasTags === true
    ? { entries: entries.map((entry) => tagVersion(presentation, entry.id, rendering.getItemVersion(entry))), total }
    : undefined
  return writer.list(items.map((item) => protectItem(format, item)), links, presentation.type.messages.read, tags)
}

function respondWithCreated (request: HttpRequest, rendering: ListRendering, writer: Writer): Response {
  const { format, path } = request
  const content = writeResult(request, rendering, () => {
    const list = { self: { href: path } }
    const { page } = rendering
    const items = page.entries.map((entry) => rendering.show(entry))
    return writeList(request, rendering, { writer, list, shown: { page, items } })
  })
  const { applied } = rendering
  if (content === undefined) {
    return { status: 201, headers: {}, content, ...applied === 'minimal' && { applied: { return: applied } } }
  }
  const headers = { 'content-type': format.mediaType }
  return { status: 201, headers, content, ...applied && { applied: { return: applied } } }
}

/** The format of what is no item: it has no entity tag that a format could write. */
function getOutputFormat ({ format, presentation }: HttpRequest): Format {
  return format.hasTags === true ? findJson(presentation.inputs.http.formats)! : format
}

function writeOutput (request: HttpRequest, { output, schema }: OutputRendering, writer: Writer): Formatted {
  const format = request.format.hasTags === true ? getOutputFormat(request) : writer
  return format.item(output, { up: { href: request.path } }, schema)
}

/** An object that was read. Its entity tag is a digest of what the format has written. */
function respondWithOutput (request: HttpRequest, rendering: OutputRendering, writer: Writer): Result {
  const format = getOutputFormat(request)
  const content = writeOutput(request, rendering, writer)
  const headers = {
    etag: buildEtag(request.presentation, hashVersions(String(content)), format),
    'content-type': format.mediaType
  }
  return findKnown(request, rendering, headers) ?? addDependence(request, rendering, ok(content, headers))
}

/** An object that a write has returned. */
function respondWithResult (request: HttpRequest, rendering: OutputRendering, writer: Writer): Response {
  const content = writeResult(request, { hasContent: true }, () => writeOutput(request, rendering, writer))
  if (content === undefined) return noContent()
  const { applied } = rendering
  const headers = { 'content-type': getOutputFormat(request).mediaType }
  return ok(content, headers, applied && { return: applied })
}

function respondWithoutContent ({ applied }: EmptyRendering): Response {
  return { ...noContent(), ...applied && { applied: { return: applied } } }
}

function respondWithMove (request: HttpRequest, { to, status }: Moved): Response {
  const uri = typeof to === 'object' ? to.href : buildItemPath(getCollectionPath(request), to)
  return moved(formatLocation(getTargetPath(request, uri), request.search), status)
}
