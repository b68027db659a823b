import { notModified, ok } from '../answer.ts'
import type { Answer } from '../answer.ts'
import { unmodified } from '../conditions.ts'
import type { Collection } from '../definition.ts'
import { listLink } from '../links.ts'
import { listQuery, pageLinks } from '../paging.ts'
import { representList, tagOf, versionOfList } from '../representation.ts'
import type { Request } from '../request.ts'

/** GET and HEAD of the collection: a page of it. */
export async function list (collection: Collection, request: Request): Promise<Answer> {
  const { format, path, search } = request
  const page = await collection.storage.list(listQuery(collection, request), request.context)
  const etag = tagOf(versionOfList(page), format)
  const links = pageLinks(collection, request, page)
  const fields: Record<string, string> = { etag }
  const link = listLink(collection, links)
  if (link !== undefined) fields.link = link
  if (unmodified(request, { tags: [etag], modified: undefined })) return notModified(fields)
  fields['content-type'] = format.mediaType
  return ok(representList(collection, page.entries, { format, path, links: { self: { href: search === '' ? path : `${path}?${search}` }, ...links } }), fields)
}
