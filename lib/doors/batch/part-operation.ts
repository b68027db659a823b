import { findPlace } from '../../engine/access/parent.ts'
import { bindAction } from '../../engine/engine.ts'
import { getGrammar } from '../../engine/grammar.ts'
import { getScope, Operation } from '../../engine/operation.ts'
import type { ParsedContent } from '../../engine/operation.ts'
import { applyPatch } from '../../engine/patch.ts'
import { createCheck } from '../http/preconditions.ts'
import type { OpenTransaction } from '../../engine/transaction.ts'
import { hasTagPrecondition } from '../../http/preconditions.ts'
import { Problem, problem } from '../../http/problems.ts'
import { checkQuery } from '../../query/check-query.ts'
import { parseQuery } from '../../query/parse.ts'
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
  const { target: { collection, action, depth }, access, own, decisions, headers, format, presentation } = part
  const { request, address } = own
  const place = findPlace(collection.attached.parent, address.parameters)
  if (place instanceof Problem) return place
  const invalid = checkRequest(part)
  if (invalid !== undefined) return invalid
  const { view } = access
  const parsed = readContent(part, content)
  return new Operation(bindAction(collection, action, { door: 'batch', isJoined: true }), access, {
    input: {
      // The key is that of the batch.
      getKeyed: () => undefined,
      parseQuery: () => parseQuery(getGrammar(collection), address),
      parseContent: () => parsed,
      applyPatch: (item) => parsed instanceof Problem ? parsed : applyPatch(view.type, item, parsed.value)
    },
    segment: action.at === 'item' ? address.segments[depth]! : '',
    place,
    context: { signal: transaction.signal, scope: getScope(access, place), lock },
    transaction,
    log: request.log,
    request,
    check: createCheck(action, {
      headers,
      format,
      presentation,
      requiresMatch: action.requiresMatch(collection.http.etag.required)
    }),
    decisions
  })
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

function readContent ({ target: { action }, access }: PreparedPart, content: unknown): ParsedContent | Problem {
  if (action.takes === 'input') return { value: content === undefined ? {} : content }
  if (content === undefined) return problem('malformed-content', { detail: 'The part has no content.' })
  const hidden = action.takesPatch ? undefined : access.view.type.checkHidden(content)
  return hidden ?? { value: content }
}
