import { applyJsonPatch, PatchRefusal } from '../http/json-patch.ts'
import { applyMergePatch } from '../http/merge-patch.ts'
import { Problem, problem } from '../http/problems.ts'
import { listFailures } from '../schema/failures.ts'
import type { ItemType } from '../schema/item-type.ts'
import { findSecrets } from '../schema/secrets.ts'
import { hideWriteOnly, restoreWriteOnly } from '../schema/write-only.ts'
import type { ParsedContent } from './operation.ts'

// Patches of an item, as its caller sees it.

export type ApplyPatch = (type: ItemType, item: object, patch: unknown) => ParsedContent | Problem

/** Applies a merge patch: RFC 7396. */
export const applyMerge: ApplyPatch = (type, item, patch) => {
  return restoreHidden(type, item, checkPatched(patch, type) ?? { value: applyMergePatch(item, patch) })
}

/**
 * Applies the operations of a JSON Patch (RFC 6902), to the item without its writeOnly properties: a test or a copy
 * would reveal them.
 */
export const applyOperations: ApplyPatch = (type, item, patch) => {
  const { properties } = type
  try {
    if (!properties.contains.writeOnly) return restoreHidden(type, item, { value: applyJsonPatch(item, patch) })
    const result = applyJsonPatch(hideWriteOnly(item, properties), patch)
    const restored = checkPatched(result, type) ?? { value: restoreWriteOnly(result, properties) }
    return restoreHidden(type, item, restored)
  } catch (thrown) {
    if (!(thrown instanceof PatchRefusal)) throw thrown
    const { kind, detail, index, pointer } = thrown
    return problem(refusalProblems[kind], { detail, properties: { operation: index, pointer } })
  }
}

/** Applies an array of operations, or a merge patch. */
export const applyPatch: ApplyPatch = (type, item, patch) => {
  return (Array.isArray(patch) ? applyOperations : applyMerge)(type, item, patch)
}

const refusalProblems = {
  malformed: 'malformed-content',
  inapplicable: 'patch-not-applicable',
  test: 'patch-test-failed'
} as const

/** 422 for properties that the caller does not see, or that cannot be changed. */
function checkPatched (changes: unknown, type: ItemType): Problem | undefined {
  const hidden = type.checkHidden(changes)
  if (hidden !== undefined) return hidden
  const paths = findSecrets(changes, type.properties)
  if (paths.length === 0) return undefined
  return problem('validation-failed', {
    detail: 'The patch changes a property that cannot be changed.',
    properties: { errors: listFailures(paths, 'cannot be changed once it is set') }
  })
}

function restoreHidden (type: ItemType, item: object, patched: ParsedContent | Problem): ParsedContent | Problem {
  return patched instanceof Problem ? patched : { value: type.restoreHidden(patched.value, item) }
}
