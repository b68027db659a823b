import type { Answer } from './answer.ts'
import type { Collection } from './definition.ts'
import { itemPath } from './links.ts'
import { contentOf, entryFields } from './representation.ts'
import { parentPath } from './request.ts'
import type { Request } from './request.ts'
import type { Entry } from './storage/contract.ts'

interface Written {
  readonly entry: Entry<object>
  readonly status: 200 | 201
  /** Of the collection and of the item. */
  readonly path: { readonly collection: string, readonly item: string }
}

/** The answer to a write that is done: the representation, or none where the client prefers so (RFC 7240 section 4.2). */
export function written (collection: Collection, request: Request, { entry, status, path }: Written): Answer {
  const { format, preferences } = request
  const wanted = { format, path: path.collection }
  const fields: Record<string, string> = status === 201 ? { location: path.item } : {}
  if (preferences.return === 'minimal') return { status: status === 201 ? 201 : 204, fields: entryFields(collection, entry, wanted, fields), content: undefined, applied: { return: 'minimal' } }
  fields['content-location'] = path.item
  fields['content-type'] = format.mediaType
  return { status, fields: entryFields(collection, entry, wanted, fields), content: contentOf(collection, entry, wanted), applied: preferences.return && { return: 'representation' } }
}

/** The answer to a POST that made an item. */
export function made (collection: Collection, request: Request, entry: Entry<object>): Answer {
  return written(collection, request, { entry, status: 201, path: { collection: request.path, item: itemPath(request.path, entry.id) } })
}

/** The answer to a PATCH. */
export function amended (collection: Collection, request: Request, entry: Entry<object>): Answer {
  return written(collection, request, { entry, status: 200, path: { collection: parentPath(request), item: request.path } })
}

/** RFC 9110 section 9.3.4: the answer to a PUT has validators only where what is stored is, byte for byte, what was sent. */
export function validated (collection: Collection, request: Request, answer: Answer): Answer {
  if (collection.replace.tag || request.content?.equals(Buffer.from(answer.content ?? '')) === true) return answer
  const { etag, 'last-modified': modified, ...fields } = answer.fields
  return { ...answer, fields }
}
