import type { Collection } from '../../engine/collection.ts'
import type { EntryOutcome, GroupsOutcome, Moved, Outcome, PageOutcome } from '../../engine/operation.ts'
import { isNotModified } from './preconditions.ts'
import { findJson } from '../../formats/entries.ts'
import type { Format } from '../../formats/format.ts'
import { formatLocation } from '../../http/location.ts'
import { isConditional } from '../../http/preconditions.ts'
import { Problem } from '../../http/problems.ts'
import { buildEquivalentGet } from '../../query/equivalent-get.ts'
import { changeRequest, getCollectionPath, getTargetPath } from './request.ts'
import type { HttpRequest } from './request.ts'
import { buildItemPath } from './links.ts'
import {
  buildEntryHeaders,
  buildEtag,
  buildSelectionHeaders,
  getRepresentationDate,
  hashVersions,
  renderContent,
  represent,
  representList,
  representSelection
} from './representation.ts'
import { moved, noContent, notModified, ok } from './response.ts'
import type { Response, Result } from './response.ts'
import { renderWritten, respondToCreate, respondToUpdate, respondToWrite } from './write-response.ts'
import { buildMatchedSchema } from '../../schema/matched.ts'
import type { Entry, Id, JsonSchema } from '../../storage/contract.ts'
import { buildPage } from './page.ts'
import { getSelection, markDependence } from './select.ts'

// Outcomes of the engine as responses.

/** Renders a page of a QUERY, or one that is for its caller only. */
export function renderPage (collection: Collection, request: HttpRequest, outcome: PageOutcome): Result {
  const isQuery = request.original.method === 'QUERY'
  const result = (isQuery ? renderQuery : buildPage)(collection, request, outcome)
  return outcome.isPrivate === true ? withoutStoring(result) : result
}

/** RFC 10008: a QUERY has the links of the equivalent GET, so that clients can follow them with either method. */
function renderQuery (collection: Collection, request: HttpRequest, outcome: PageOutcome): Result {
  const search = buildEquivalentGet(outcome.lists, outcome.listQuery)
  if (search === undefined) return buildPage(collection, request, outcome)
  const result = buildPage(collection, changeRequest(request, { search }), outcome)
  if (result instanceof Problem) return result
  const location = search === '' ? request.path : `${request.path}?${search}`
  return { ...result, headers: { ...result.headers, 'content-location': location } }
}

/** The response is for this caller only, whatever the cache policy says. */
function withoutStoring (result: Result): Result {
  if (result instanceof Problem) return result
  return { ...result, headers: { ...result.headers, 'cache-control': 'no-store' } }
}

/** Renders the item that was read. */
export function renderEntry (collection: Collection, request: HttpRequest, outcome: EntryOutcome): Result {
  const result = respondWithEntry(request, outcome)
  if (result instanceof Problem) return result
  const response = markDependence(collection, outcome, result)
  return outcome.isPrivate === true ? withoutStoring(response) : response
}

/** The item, or 304 if the client has it already. */
function respondWithEntry (request: HttpRequest, outcome: EntryOutcome): Result {
  const { format, headers, presentation } = request
  const { entry } = outcome
  const selection = getSelection(outcome)
  const wanted = { format, path: getCollectionPath(request) }
  if (isConditional(headers)) {
    const headers = selection === undefined
      ? buildEntryHeaders(presentation, entry, wanted)
      : buildSelectionHeaders(presentation, entry, { ...wanted, selection })
    const hasAdditions = selection !== undefined && selection.additions.length > 0
    const modified = hasAdditions ? undefined : getRepresentationDate(presentation, entry)
    const isKnown = isNotModified(request, { tag: headers.etag!, modified })
    if (isKnown instanceof Problem) return isKnown
    if (isKnown) return notModified(headers)
  }
  const representation = selection === undefined
    ? represent(presentation, entry, wanted)
    : representSelection(presentation, entry, { ...wanted, selection })
  return ok(representation.content, representation.headers)
}

/** Renders what any other operation leads to, once: a receipt has the response that is sent after the commit. */
export function renderWrite (collection: Collection, request: HttpRequest, outcome: Outcome): Response {
  if (request.rendered?.outcome !== outcome) {
    request.rendered = { outcome, response: renderChange(collection, request, outcome) }
  }
  return request.rendered.response
}

function renderChange (collection: Collection, request: HttpRequest, outcome: Outcome): Response {
  switch (outcome.kind) {
    case 'entry': return renderWrittenEntry(collection, request, outcome)
    case 'output': return renderOutput(collection, request, outcome)
    case 'removed': return renderRemoved(collection, request, outcome.entry)
    case 'many': return renderMany(collection, request, outcome.entries)
    case 'matched': return renderMatched(collection, request, outcome.ids)
    case 'moved': return renderMoved(request, outcome)
    case 'replayed': return outcome.response
    case 'page':
    case 'groups': throw new TypeError(`The outcome of a write cannot be ${outcome.kind}.`)
  }
}

function renderWrittenEntry (collection: Collection, request: HttpRequest, { entry, created }: EntryOutcome): Response {
  const { method } = request.original
  if (method === 'POST') return respondToCreate(collection, request, entry)
  if (method === 'PATCH') return respondToUpdate(collection, request, entry)
  const path = getCollectionPath(request)
  return respondToWrite(collection, request, {
    entry,
    status: created ? 201 : 200,
    path: { collection: path, item: created ? buildItemPath(path, entry.id) : request.path },
    sent: request.content
  })
}

/** The format of what is no item: it has no entity tag that a format could write. */
function getOutputFormat ({ format, presentation }: HttpRequest): Format {
  return format.hasTags === true ? findJson(presentation.inputs.http.formats)! : format
}

/** What a custom action responds with: its output, or the item. Without either, the response has no content. */
function renderOutput (
  collection: Collection,
  request: HttpRequest,
  { output, entry }: Extract<Outcome, { kind: 'output' }>
): Response {
  if (output === undefined) return entry === undefined ? noContent() : respondToUpdate(collection, request, entry)
  const { path } = request
  const format = getOutputFormat(request)
  const action = request.action.custom!
  const content = renderWritten(collection, request, () => {
    return format.item(action.showOutput(output), { up: { href: path } }, action.output!)
  })
  return content === undefined ? noContent() : ok(content, { 'content-type': format.mediaType })
}

/** What a GET of a custom action responds with: its output or the item, with an entity tag, or 304. */
export function renderReadOutput (
  collection: Collection,
  request: HttpRequest,
  outcome: Extract<Outcome, { kind: 'output' }>
): Result {
  const { output, entry } = outcome
  if (output === undefined) {
    const read = entry && { kind: 'entry', entry, created: false } as const
    return read === undefined ? noContent() : renderEntry(collection, request, read)
  }
  const action = request.action.custom!
  return respondWithOutput(request, action.showOutput(output), action.output!)
}

/** Renders figures over groups of items. */
export function renderGroups (collection: Collection, request: HttpRequest, outcome: GroupsOutcome): Result {
  const result = respondWithOutput(request, outcome.output, collection.attached.aggregate!.output)
  if (result instanceof Problem) return result
  const response = markDependence(collection, outcome, result)
  return outcome.isPrivate === true ? withoutStoring(response) : response
}

/** An object with an entity tag, or 304 if the client has it already. */
function respondWithOutput (request: HttpRequest, output: object, schema: JsonSchema): Result {
  const { path, presentation } = request
  const format = getOutputFormat(request)
  const content = format.item(output, { up: { href: path } }, schema)
  const etag = buildEtag(presentation, hashVersions(String(content)), format)
  const isKnown = isConditional(request.headers) && isNotModified(request, { tag: etag, modified: undefined })
  if (isKnown instanceof Problem) return isKnown
  return isKnown ? notModified({ etag }) : ok(content, { etag, 'content-type': format.mediaType })
}

/** Whether a DELETE responds with the removed item. */
export function returnsRemoved ({ preferences }: HttpRequest): boolean {
  return preferences.return === 'representation'
}

function renderRemoved (collection: Collection, request: HttpRequest, removed: Entry<object> | undefined): Response {
  if (removed === undefined || !returnsRemoved(request)) return noContent()
  const { format, presentation } = request
  const content = renderWritten(collection, request, () => {
    return renderContent(presentation, removed, { format, path: getCollectionPath(request) })
  })
  if (content === undefined) return noContent()
  return ok(content, { 'content-type': format.mediaType }, { return: 'representation' })
}

function renderMany (collection: Collection, request: HttpRequest, entries: ReadonlyArray<Entry<object>>): Response {
  const { format, path, preferences, presentation } = request
  if (preferences.return === 'minimal') {
    return { status: 201, headers: {}, content: undefined, applied: { return: 'minimal' } }
  }
  const links = { self: { href: path } }
  const content = renderWritten(collection, request, () => {
    const items = entries.map(({ item }) => presentation.type.show(item))
    return representList(presentation, entries, { format, path, links, items, selection: undefined })
  })
  if (content === undefined) return { status: 201, headers: {}, content }
  return {
    status: 201,
    headers: { 'content-type': format.mediaType },
    content,
    ...preferences.return && { applied: { return: 'representation' } }
  }
}

/** How many items were written; which ones, if the client prefers that. */
function renderMatched (collection: Collection, request: HttpRequest, ids: readonly Id[]): Response {
  const { path, preferences: { return: preferred } } = request
  const format = getOutputFormat(request)
  if (preferred === 'minimal') return { ...noContent(), applied: { return: 'minimal' } }
  const result = { count: ids.length, ...preferred === 'representation' && { ids } }
  const content = renderWritten(collection, request, () => {
    return format.item(result, { up: { href: path } }, buildMatchedSchema(collection.type))
  })
  if (content === undefined) return noContent()
  return ok(content, { 'content-type': format.mediaType }, preferred && { return: 'representation' })
}

function renderMoved (request: HttpRequest, { to, status }: Moved): Response {
  const uri = typeof to === 'object' ? to.href : buildItemPath(getCollectionPath(request), to)
  return moved(formatLocation(getTargetPath(request, uri), request.search), status)
}
