import type { Result } from '../action.ts'
import { notModified, ok } from '../response/response.ts'
import { isNotModified } from '../items/preconditions.ts'
import type { Collection } from '../collection.ts'
import { isConditional } from '../http/preconditions.ts'
import { Problem, problem } from '../http/problems.ts'
import { parseItemQuery } from '../listing/query-string.ts'
import {
  buildEntryHeaders,
  buildViewHeaders,
  getRepresentationDate,
  represent,
  representView
} from '../response/representation.ts'
import { getCollectionPath } from '../request/request.ts'
import type { Request } from '../request/request.ts'
import type { Entry } from '../storage/contract.ts'
import { markPersonal, buildView } from '../response/view.ts'
import type { View } from '../response/view.ts'

/** GET and HEAD of an item. */
export async function read (collection: Collection, request: Request): Promise<Result> {
  const listQuery = parseItemQuery(collection, request)
  if (listQuery instanceof Problem) return listQuery

  const id = collection.id.read(request.segment)
  const entry = id === undefined ? undefined : await collection.storage.find(id, request.context)
  if (entry === undefined) return problem('not-found')

  const hasView = listQuery.fields !== undefined || listQuery.features !== undefined
  const view = hasView ? await buildView(collection, [entry], { listQuery, request }) : undefined
  return respond(collection, request, { entry, view })
}

interface FoundItem {
  readonly entry: Entry<object>
  /** Undefined if the client requests the whole item without additions. */
  readonly view?: View | undefined
}

/** The item, or 304 if the client has it already. */
function respond (collection: Collection, request: Request, { entry, view }: FoundItem): Result {
  const { format, fields } = request
  const wanted = { format, path: getCollectionPath(request) }
  if (isConditional(fields)) {
    const headers = view === undefined
      ? buildEntryHeaders(collection, entry, wanted)
      : buildViewHeaders(collection, entry, { ...wanted, view })
    const hasAdditions = view !== undefined && view.additions.length > 0
    const modified = hasAdditions ? undefined : getRepresentationDate(collection, entry)
    const isKnown = isNotModified(request, { tag: headers.etag!, modified })
    if (isKnown instanceof Problem) return isKnown
    if (isKnown) return markPersonal(view, notModified(headers))
  }
  const representation = view === undefined
    ? represent(collection, entry, wanted)
    : representView(collection, entry, { ...wanted, view })
  return markPersonal(view, ok(representation.content, representation.fields))
}
