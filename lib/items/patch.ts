import { parseContent } from '../request/content.ts'
import type { Collection } from '../collection.ts'
import { parseIJson } from '../formats/i-json.ts'
import { parseMediaType } from '../http/content-type.ts'
import { applyJsonPatch, PatchRefusal } from '../http/json-patch.ts'
import { applyMergePatch } from '../http/merge-patch.ts'
import { Problem, problem } from '../http/problems.ts'
import type { Call, ParsedContent } from '../request/request.ts'
import { listFailures } from '../schema/failures.ts'
import { hideWriteOnly, restoreWriteOnly } from '../schema/write-only.ts'
import { findSecrets } from '../schema/secrets.ts'
import { checkHidden, restoreHidden } from '../access/visible.ts'

type Patch = (collection: Collection, item: object, patch: unknown) => ParsedContent | Problem

const applyMerge: Patch = (collection, item, patch) => {
  return checkPatched(patch, collection) ?? { value: applyMergePatch(item, patch) }
}

/** Applies the operations to the item without its writeOnly properties: a test or a copy would reveal them. */
const applyOperations: Patch = (collection, item, patch) => {
  const { properties } = collection
  try {
    if (!properties.contains.writeOnly) return { value: applyJsonPatch(item, patch) }
    const result = applyJsonPatch(hideWriteOnly(item, properties), patch)
    return checkPatched(result, collection) ?? { value: restoreWriteOnly(result, properties) }
  } catch (thrown) {
    if (!(thrown instanceof PatchRefusal)) throw thrown
    const { kind, detail, index, pointer } = thrown
    return problem(refusalProblems[kind], { detail, members: { operation: index, pointer } })
  }
}

const refusalProblems = {
  malformed: 'malformed-content',
  inapplicable: 'patch-not-applicable',
  test: 'patch-test-failed'
} as const

/** 422 for properties that the caller does not see, or that cannot be changed. */
function checkPatched (changes: unknown, collection: Collection): Problem | undefined {
  const hidden = collection.hidden && checkHidden(collection.hidden, changes)
  if (hidden !== undefined) return hidden
  const paths = findSecrets(changes, collection.properties)
  if (paths.length === 0) return undefined
  return problem('validation-failed', {
    detail: 'The patch changes a property that cannot be changed.',
    members: { errors: listFailures(paths, 'cannot be changed once it is set') }
  })
}

/** RFC 5789: the formats of PATCH. Most clients send plain JSON, which is read as a merge patch. */
const patches: Readonly<Record<string, Patch>> = {
  'application/merge-patch+json': applyMerge,
  'application/json-patch+json': applyOperations,
  'application/json': applyMerge
}

export const patchTypes: readonly string[] = Object.keys(patches)

/** Applies the patch of the client to the item. */
export function applyPatch (collection: Collection, request: Call, item: object): ParsedContent | Problem {
  const patch = patches[parseMediaType(request.fields['content-type']) ?? ''] ?? applyMerge
  const content = parseContent(request, parseIJson, collection.schema)
  if (content instanceof Problem) return content
  const patched = patch(collection, item, content.value)
  if (patched instanceof Problem || collection.hidden === undefined) return patched
  return { value: restoreHidden(collection.hidden, patched.value, item) }
}
