import type { Formatted } from '../../formats/format.ts'
import type { Response } from './response.ts'
import { buildItemPath } from './links.ts'
import { addLinkHeader, buildEntryHeaders, renderContent } from './representation.ts'
import { getCollectionPath } from './request.ts'
import type { HttpRequest } from './request.ts'
import type { Entry } from '../../storage/contract.ts'

interface Named {
  readonly name: string
}

interface WriteResult {
  readonly entry: Entry<object>
  readonly status: 200 | 201
  readonly path: { readonly collection: string, readonly item: string }
  /**
   * The content of the request, if the response has validators only when that was stored unchanged.
   * RFC 9110, section 9.3.4.
   */
  readonly sent?: Buffer | undefined
}

/** Renders the content of the response to a write. If that fails, the write stays, and the response has no content. */
export function renderWritten (
  collection: Named,
  request: HttpRequest,
  render: () => Formatted
): Formatted | undefined {
  try {
    return render()
  } catch (err) {
    logRenderFailure(collection, request, err)
    return undefined
  }
}

export function logRenderFailure ({ name }: Named, { original }: HttpRequest, err: unknown): void {
  const message = `the ${original.method} succeeded, but its response could not be rendered and is sent without content`
  original.log.error({ collection: name, err }, message)
}

/** Responds to a successful write: with the item, or without it if the client prefers that (RFC 7240, section 4.2). */
export function respondToWrite (collection: Named, request: HttpRequest, result: WriteResult): Response {
  const { entry, status, path, sent } = result
  const { format, preferences, presentation } = request
  const target = { format, path: path.collection }
  const content = preferences.return === 'minimal'
    ? undefined
    : renderWritten(collection, request, () => renderContent(presentation, entry, target))
  const isMinimal = content === undefined
  const headers: Record<string, string> = status === 201 ? { location: path.item } : {}
  if (!isMinimal) {
    headers['content-location'] = path.item
    headers['content-type'] = format.mediaType
  }
  if (sent === undefined || isSame(sent, content)) buildEntryHeaders(presentation, entry, target, headers)
  else addLinkHeader(presentation, target, headers)
  const applied = isMinimal ? 'minimal' : 'representation'
  return {
    status: isMinimal && status === 200 ? 204 : status,
    headers,
    content,
    applied: preferences.return === applied ? { return: applied } : undefined
  }
}

function isSame (sent: Buffer, content: Formatted | undefined): boolean {
  if (content === undefined || sent.length !== Buffer.byteLength(content)) return false
  return sent.equals(typeof content === 'string' ? Buffer.from(content) : content)
}

/** Responds to a POST that has created an item. */
export function respondToCreate (collection: Named, request: HttpRequest, entry: Entry<object>): Response {
  const path = { collection: request.path, item: buildItemPath(request.path, entry.id) }
  return respondToWrite(collection, request, { entry, status: 201, path })
}

/** Responds to a PATCH. */
export function respondToUpdate (collection: Named, request: HttpRequest, entry: Entry<object>): Response {
  const path = { collection: getCollectionPath(request), item: request.path }
  return respondToWrite(collection, request, { entry, status: 200, path })
}
