import type { Answer } from './answer.ts'
import type { Collection } from '../collection.ts'
import { itemPath } from './links.ts'
import { contentOf, entryFields, linkFields } from './representation.ts'
import { parentPath } from '../request/request.ts'
import type { Request } from '../request/request.ts'
import type { Entry } from '../storage/contract.ts'

interface Written {
  readonly entry: Entry<object>
  readonly status: 200 | 201
  /** Of the collection and of the item. */
  readonly path: { readonly collection: string, readonly item: string }
  /** Where validators are told only of what is stored, byte for byte, as it was sent (RFC 9110 section 9.3.4): that. */
  readonly sent?: Buffer | undefined
}

/** The content of the response to a write. The write is done, so a `links` function or a format that fails costs the content alone. */
export function renderWritten (request: Request, render: () => string): string | undefined {
  try {
    return render()
  } catch (err) {
    logUnrendered(request, err)
    return undefined
  }
}

export function logUnrendered ({ original }: Request, err: unknown): void {
  original.log.error({ err }, `the response to a ${original.method} that is done could not be rendered, and is sent without content`)
}

/** The answer to a write that is done: the representation, or none where the client prefers so (RFC 7240 section 4.2). */
export function written (collection: Collection, request: Request, { entry, status, path, sent }: Written): Answer {
  const { format, preferences } = request
  const wanted = { format, path: path.collection }
  const content = preferences.return === 'minimal' ? undefined : renderWritten(request, () => contentOf(collection, entry, wanted))
  const minimal = content === undefined
  const fields: Record<string, string> = status === 201 ? { location: path.item } : {}
  if (!minimal) {
    fields['content-location'] = path.item
    fields['content-type'] = format.mediaType
  }
  return {
    status: minimal && status === 200 ? 204 : status,
    fields: sent === undefined || isSame(sent, content) ? entryFields(collection, entry, wanted, fields) : linkFields(collection, wanted, fields),
    content,
    applied: preferences.return === (minimal ? 'minimal' : 'representation') ? { return: preferences.return } : undefined
  }
}

function isSame (sent: Buffer, content: string | undefined): boolean {
  return content !== undefined && sent.length === Buffer.byteLength(content) && sent.equals(Buffer.from(content))
}

/** The answer to a POST that made an item. */
export function made (collection: Collection, request: Request, entry: Entry<object>): Answer {
  return written(collection, request, { entry, status: 201, path: { collection: request.path, item: itemPath(request.path, entry.id) } })
}

/** The answer to a PATCH. */
export function amended (collection: Collection, request: Request, entry: Entry<object>): Answer {
  return written(collection, request, { entry, status: 200, path: { collection: parentPath(request), item: request.path } })
}
