import type { Collection } from '../collection.ts'
import { isConditional, isConditionalWrite, evaluatePreconditions } from '../http/preconditions.ts'
import type { Validators } from '../http/preconditions.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import { getLastModified, buildEtag } from '../response/representation.ts'
import type { Call } from '../request/request.ts'
import type { Entry } from '../storage/contract.ts'
import { getVersion } from '../response/view.ts'

/** RFC 9110, section 13, for a read: whether the client has this representation already, or 412. */
export function isNotModified ({ fields }: Call, current: Validators): boolean | Problem {
  const outcome = evaluatePreconditions({ safe: true, fields, current })
  if (outcome === 'failed') return preconditionFailed()
  return outcome === 'not modified'
}

/** Whether a write has to read the item first. */
export function dependsOnItem ({ etag }: Collection, { fields }: Call): boolean {
  return etag.required || isConditional(fields)
}

/** RFC 9110, section 13, for a write: 428 if a precondition is missing, 412 if it fails. */
export function checkPreconditions (
  collection: Collection,
  request: Call,
  entry: Entry<object> | undefined
): Problem | undefined {
  const { fields } = request
  if (!dependsOnItem(collection, request)) return undefined
  const modified = entry && getLastModified(collection, entry)
  if (collection.etag.required && !isConditionalWrite(fields, modified !== undefined)) {
    return problem('precondition-required', {
      detail: 'Read the item, then repeat the request with the header If-Match and the ETag of that response.'
    })
  }
  const current = entry && getValidators(collection, request, { version: getVersion(collection.type, entry), modified })
  const outcome = evaluatePreconditions({ safe: false, fields, current, weak: collection.etag.acceptWeak })
  return outcome === 'failed' ? preconditionFailed() : undefined
}

/** Returns the entity tags of a version in all formats: a client may have read the item in another one. */
export function getValidators (
  collection: Collection,
  { format }: Call,
  { version, modified }: { version: string, modified: Date | undefined }
): Validators {
  const others = () => collection.formats
    .filter((other) => other !== format)
    .map((other) => buildEtag(collection, version, other))
  return { tag: buildEtag(collection, version, format), others, modified }
}

export function preconditionFailed (): Problem {
  return problem('precondition-failed', { detail: 'The resource has changed. Read it again, then decide.' })
}
