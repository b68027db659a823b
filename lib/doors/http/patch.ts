import { parseContent } from './content.ts'
import { parseIJson } from '../../formats/i-json.ts'
import { applyJsonPatch, PatchRefusal } from '../../http/json-patch.ts'
import { applyMergePatch } from '../../http/merge-patch.ts'
import { Problem, problem } from '../../http/problems.ts'
import type { ParsedContent, Request } from './request.ts'
import { listFailures } from '../../schema/failures.ts'
import type { ItemType } from '../../schema/item-type.ts'
import { hideWriteOnly, restoreWriteOnly } from '../../schema/write-only.ts'
import { findSecrets } from '../../schema/secrets.ts'

type Patch = (type: ItemType, item: object, patch: unknown) => ParsedContent | Problem

const applyMerge: Patch = (type, item, patch) => {
  return checkPatched(patch, type) ?? { value: applyMergePatch(item, patch) }
}

/** Applies the operations to the item without its writeOnly properties: a test or a copy would reveal them. */
const applyOperations: Patch = (type, item, patch) => {
  const { properties } = type
  try {
    if (!properties.contains.writeOnly) return { value: applyJsonPatch(item, patch) }
    const result = applyJsonPatch(hideWriteOnly(item, properties), patch)
    return checkPatched(result, type) ?? { value: restoreWriteOnly(result, properties) }
  } catch (thrown) {
    if (!(thrown instanceof PatchRefusal)) throw thrown
    const { kind, detail, index, pointer } = thrown
    return problem(refusalProblems[kind], { detail, properties: { operation: index, pointer } })
  }
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

/** RFC 5789: the formats of PATCH. Most clients send plain JSON, which is read as a merge patch. */
const patches: Readonly<Record<string, Patch>> = {
  'application/merge-patch+json': applyMerge,
  'application/json-patch+json': applyOperations,
  'application/json': applyMerge
}

export const patchTypes: readonly string[] = Object.keys(patches)

/** The parts of a request that a patch depends on. */
export type PatchRequest = Pick<Request, 'view' | 'mediaType' | 'content'>

/** The formats of a patch that is applied to several items: the pointers of a JSON Patch depend on the item. */
export const bulkPatchTypes: readonly string[] = patchTypes.filter((type) => patches[type] === applyMerge)

/** Parses the patch of the client. */
export function parsePatch (request: PatchRequest): ParsedContent | Problem {
  return parseContent(request, parseIJson, request.view.type.schema)
}

/** Applies the patch of the client to the item. */
export function applyPatch (request: PatchRequest, item: object): ParsedContent | Problem {
  const { type } = request.view
  const content = parsePatch(request)
  if (content instanceof Problem) return content
  const patch = patches[request.mediaType ?? ''] ?? applyMerge
  return restoreHidden(type, item, patch(type, item, content.value))
}

/** Applies a patch to the item: an array of operations (RFC 6902), or a merge patch. */
export function applyParsedPatch (type: ItemType, item: object, patch: unknown): ParsedContent | Problem {
  const apply = Array.isArray(patch) ? applyOperations : applyMerge
  return restoreHidden(type, item, apply(type, item, patch))
}

function restoreHidden (type: ItemType, item: object, patched: ParsedContent | Problem): ParsedContent | Problem {
  return patched instanceof Problem ? patched : { value: type.restoreHidden(patched.value, item) }
}
