import { findPlace } from '../../engine/access/parent.ts'
import { getSteps } from '../../engine/engine.ts'
import type { Operation } from '../../engine/operation.ts'
import { applyParsedPatch } from '../http/patch.ts'
import { checkPreconditions, dependsOnItem } from '../http/preconditions.ts'
import type { OpenTransaction } from '../../engine/transaction.ts'
import type { View } from '../../engine/view.ts'
import { hasTagPrecondition } from '../../http/preconditions.ts'
import { Problem, problem } from '../../http/problems.ts'
import { parseItemQuery, parseListQuery } from '../../query/query-string.ts'
import type { ListQuery } from '../../query/list-query.ts'
import { checkQuery } from '../../query/check-query.ts'
import type { ParsedContent } from '../http/request.ts'
import { joinFilters } from '../../storage/filter.ts'
import type { PreparedPart } from './prepare-part.ts'

interface Joined {
  readonly transaction: OpenTransaction
  /** Whether the items that a part reads are locked. */
  readonly lock: boolean
}

/** A part, as the engine sees it: an operation that joins the transaction of the batch. */
export function toOperation (
  part: PreparedPart,
  content: unknown,
  { transaction, lock }: Joined
): Operation | Problem {
  const { target: { collection, action, depth }, access, own, decisions } = part
  const { request, address } = own
  const place = findPlace(collection.attached.parent, address.parameters)
  if (place instanceof Problem) return place
  const invalid = checkRequest(part)
  if (invalid !== undefined) return invalid
  const { view, caller, scope } = access
  const segment = action.at === 'item' ? address.segments[depth]! : ''
  const parsed = readContent(part, content)
  const operation: Operation = {
    collection,
    door: 'batch',
    action,
    customAction: action.custom?.name,
    steps: getSteps(collection, action, { door: 'batch', isJoined: true }),
    segment,
    id: action.at === 'item' ? collection.id.read(segment) : undefined,
    fixed: place?.fixed,
    view,
    caller,
    initiator: caller,
    isApp: false,
    scope,
    parentScope: access.parentScope?.filter,
    storage: transaction.join(collection),
    context: { signal: transaction.signal, scope: joinFilters(place?.scope, scope?.filter), lock },
    transaction,
    log: request.log,
    request,
    getRawQuery: () => address.query,
    // Layers may change the view.
    query () {
      return readQuery(part, this.view)
    },
    content: () => parsed,
    patch: (item) => parsed instanceof Problem ? parsed : applyParsedPatch(view.type, item, parsed.value),
    check: createCheck(part),
    canCreate: access.canCreate,
    decisions,
    returnsRemoved: false
  }
  return operation
}

/** Whether the part is a GET. */
export function isRead ({ target: { action } }: PreparedPart): boolean {
  return action.reads
}

/** What the HTTP door checks before an action. */
function checkRequest (part: PreparedPart): Problem | undefined {
  const { target: { action }, own: { address }, headers } = part
  if (action.at === 'collection' && hasTagPrecondition(headers)) {
    return problem('bad-request', { detail: 'ifMatch and ifNoneMatch are about an item. Send the part without them.' })
  }
  return action.query === undefined ? checkQuery(address) : undefined
}

function createCheck (part: PreparedPart): Operation['check'] {
  const { target: { collection, action }, headers, format, presentation } = part
  const requiresMatch = action.requiresMatch(collection.http.etag.required)
  const conditions = { headers, format, presentation, requiresMatch }
  if (isRead(part) || !dependsOnItem(conditions)) return undefined
  return (entry) => checkPreconditions(conditions, entry)
}

function readContent ({ target: { action }, access }: PreparedPart, content: unknown): ParsedContent | Problem {
  if (action.takes === 'input') return { value: content === undefined ? {} : content }
  if (content === undefined) return problem('malformed-content', { detail: 'The part has no content.' })
  const hidden = action.takes === 'patch' ? undefined : access.view.type.checkHidden(content)
  return hidden ?? { value: content }
}

function readQuery ({ target: { action }, own }: PreparedPart, { lists }: View): ListQuery | Problem {
  const { address: { query, search } } = own
  const request = { query, search }
  if (action.query === 'item') return parseItemQuery(lists, request)
  return action.aggregate?.parseString(lists, request) ?? parseListQuery(lists, request)
}
