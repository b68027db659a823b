import type { Result } from '../action.ts'
import { notModified, ok } from '../response/response.ts'
import { isNotModified } from '../engine/preconditions.ts'
import type { Collection } from '../collection.ts'
import { isConditional } from '../http/preconditions.ts'
import { Problem, problem } from '../http/problems.ts'
import { parseItemQuery } from '../listing/query-string.ts'
import {
  buildEntryHeaders,
  buildSelectionHeaders,
  getRepresentationDate,
  represent,
  representSelection
} from '../response/representation.ts'
import { getCollectionPath } from '../request/request.ts'
import type { Request } from '../request/request.ts'
import type { Entry } from '../storage/contract.ts'
import { markPersonal } from '../response/selection.ts'
import type { Selection } from '../response/selection.ts'
import { buildSelection } from './select.ts'

/** GET and HEAD of an item. */
export async function read (collection: Collection, request: Request): Promise<Result> {
  const listQuery = parseItemQuery(request.view.lists, request)
  if (listQuery instanceof Problem) return listQuery

  const id = collection.id.read(request.segment)
  const entry = id === undefined ? undefined : await request.storage.find(id, request.context)
  if (entry === undefined) return problem('not-found')

  const isSelected = listQuery.fields !== undefined || listQuery.features !== undefined
  const selection = isSelected ? await buildSelection(collection, [entry], { listQuery, request }) : undefined
  return respond(request, { entry, selection })
}

interface FoundItem {
  readonly entry: Entry<object>
  /** Undefined if the client requests the whole item without additions. */
  readonly selection?: Selection | undefined
}

/** The item, or 304 if the client has it already. */
function respond (request: Request, { entry, selection }: FoundItem): Result {
  const { format, fields, presentation } = request
  const wanted = { format, path: getCollectionPath(request) }
  if (isConditional(fields)) {
    const headers = selection === undefined
      ? buildEntryHeaders(presentation, entry, wanted)
      : buildSelectionHeaders(presentation, entry, { ...wanted, selection })
    const hasAdditions = selection !== undefined && selection.additions.length > 0
    const modified = hasAdditions ? undefined : getRepresentationDate(presentation, entry)
    const isKnown = isNotModified(request, { tag: headers.etag!, modified })
    if (isKnown instanceof Problem) return isKnown
    if (isKnown) return markPersonal(selection, notModified(headers))
  }
  const representation = selection === undefined
    ? represent(presentation, entry, wanted)
    : representSelection(presentation, entry, { ...wanted, selection })
  return markPersonal(selection, ok(representation.content, representation.fields))
}
