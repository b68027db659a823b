import { parseContent } from '../request/content.ts'
import type { Collection } from '../collection.ts'
import { parseIJson } from '../formats/i-json.ts'
import { mediaType } from '../http/content-type.ts'
import { jsonPatch, PatchRefusal } from '../http/json-patch.ts'
import { pointer } from '../http/json-pointer.ts'
import { mergePatch } from '../http/merge-patch.ts'
import { Problem, problem } from '../http/problems.ts'
import type { ParsedContent, Request } from '../request/request.ts'
import { concealed, revealed } from '../schema/concealment.ts'
import { secretsIn } from '../schema/secrets.ts'
import { checkHidden, restoreHidden } from '../access/visible.ts'

type Patch = (collection: Collection, item: object, patch: unknown) => ParsedContent | Problem

const merge: Patch = (collection, item, patch) => checkPatched(patch, collection) ?? { value: mergePatch(item, patch) }

/** Applied to the item without its writeOnly properties: a test or a copy would reveal them. */
const operations: Patch = (collection, item, patch) => {
  const { properties } = collection
  try {
    if (!properties.carries.writeOnly) return { value: jsonPatch(item, patch) }
    const result = jsonPatch(concealed(item, properties), patch)
    return checkPatched(result, collection) ?? { value: revealed(result, properties) }
  } catch (thrown) {
    if (!(thrown instanceof PatchRefusal)) throw thrown
    const { kind, detail, index, pointer } = thrown
    return problem(refusals[kind], { detail, members: { operation: index, pointer } })
  }
}

const refusals = { malformed: 'malformed-content', inapplicable: 'patch-not-applicable', test: 'patch-test-failed' } as const

/** 422 for properties that the caller does not see, or that cannot be changed. */
function checkPatched (named: unknown, collection: Collection): Problem | undefined {
  const hidden = collection.hidden && checkHidden(collection.hidden, named)
  if (hidden !== undefined) return hidden
  const paths = secretsIn(named, collection.properties)
  if (paths.length === 0) return undefined
  return problem('validation-failed', { detail: 'The patch changes a property that cannot be changed.', members: { errors: paths.map((path) => ({ pointer: pointer(path), message: 'cannot be changed once it is set' })) } })
}

/** RFC 5789: the formats of PATCH. Most clients send plain JSON, which is read as a merge patch. */
const patches: Readonly<Record<string, Patch>> = {
  'application/merge-patch+json': merge,
  'application/json-patch+json': operations,
  'application/json': merge
}

export const patchTypes: readonly string[] = Object.keys(patches)

/** The item after the patch that the client sent. */
export function applyPatch (collection: Collection, request: Request, item: object): ParsedContent | Problem {
  const patch = patches[mediaType(request.fields['content-type']) ?? ''] ?? merge
  const content = parseContent(request, parseIJson, collection.schema)
  if (content instanceof Problem) return content
  const patched = patch(collection, item, content.value)
  if (patched instanceof Problem || collection.hidden === undefined) return patched
  return { value: restoreHidden(collection.hidden, patched.value, item) }
}
