import { isOtherForm, parseEntityTags } from '../../http/entity-tag.ts'
import { isConditional, isConditionalWrite, evaluatePreconditions } from '../../http/preconditions.ts'
import type { Validators } from '../../http/preconditions.ts'
import { problem } from '../../http/problems.ts'
import type { Problem } from '../../http/problems.ts'
import { getLastModified } from '../../schema/last-modified.ts'
import { buildEtag } from './representation.ts'
import type { ActionInfo } from '../../engine/action-info.ts'
import type { Operation } from '../../engine/operation.ts'
import type { HttpRequest } from './request.ts'
import type { Entry } from '../../storage/contract.ts'

/** RFC 9110, section 13, for a read: whether the client has this representation already, or 412. */
export function isNotModified ({ headers }: Pick<HttpRequest, 'headers'>, current: Validators): boolean | Problem {
  const outcome = evaluatePreconditions({ safe: true, fields: headers, current })
  if (outcome === 'failed') return preconditionFailed(headers)
  return outcome === 'not modified'
}

/** Whether a write has to read the item first. */
function dependsOnItem ({ requiresMatch, headers }: Pick<HttpRequest, 'requiresMatch' | 'headers'>): boolean {
  return requiresMatch || isConditional(headers)
}

/** The parts of a request, or of a call from code, that its preconditions depend on. */
export type ConditionalRequest = Pick<HttpRequest, 'headers' | 'format' | 'presentation' | 'requiresMatch'>

/** Returns the preconditions of a write; undefined if there are none. */
export function createCheck ({ reads }: ActionInfo, request: ConditionalRequest): Operation['check'] {
  return !reads && dependsOnItem(request) ? (entry) => checkPreconditions(request, entry) : undefined
}

/** RFC 9110, section 13, for a write: 428 if a precondition is missing, 412 if it fails. */
function checkPreconditions (
  request: ConditionalRequest,
  entry: Entry<object> | undefined
): Problem | undefined {
  const { headers, presentation } = request
  const modified = entry && getLastModified(presentation.type, entry)
  if (request.requiresMatch && !isConditionalWrite(headers, modified !== undefined)) {
    return problem('precondition-required', {
      detail: 'Read the item, then repeat the request with the header If-Match and the ETag of that response.'
    })
  }
  const version = entry && presentation.type.getVersion(entry)
  const current = version === undefined ? undefined : getValidators(request, { version, modified })
  const outcome = evaluatePreconditions({ safe: false, fields: headers, current })
  return outcome === 'failed' ? preconditionFailed(headers, version) : undefined
}

/** Returns the entity tags of a version in all formats: a client may have read the item in another one. */
function getValidators (
  { format, presentation }: ConditionalRequest,
  { version, modified }: { version: string, modified: Date | undefined }
): Validators {
  const others = () => presentation.inputs.http.formats
    .filter((other) => other !== format)
    .map((other) => buildEtag(presentation, version, other))
  return { tag: buildEtag(presentation, version, format), others, modified }
}

/** `version` is that of the item, for a write. */
function preconditionFailed ({ 'if-match': match }: HttpRequest['headers'], version?: string): Problem {
  return problem('precondition-failed', { detail: explainFailure(match, version) })
}

function explainFailure (match: string | undefined, version: string | undefined): string {
  const tags = match === undefined ? '*' : parseEntityTags(match)
  if (tags.length === 0) {
    return 'If-Match contains no entity tag. Send the ETag of the item as it is, with its quotation marks.'
  }
  if (tags !== '*' && version !== undefined && tags.some((tag) => isOtherForm(tag, version))) {
    return 'The entity tag belongs to another form of the item. ' +
      'Read the item without expand and fields, and send the ETag of that response.'
  }
  return 'The resource has changed. Read it again, then decide.'
}
