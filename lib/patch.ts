import { concealed, revealed } from './schema/concealment.ts'
import type { Collection } from './definition.ts'
import { parseIJson } from './formats/i-json.ts'
import { parsed } from './content.ts'
import { mediaType } from './http/content-type.ts'
import { jsonPatch, PatchRefusal } from './http/json-patch.ts'
import { pointer } from './http/json-pointer.ts'
import { mergePatch } from './http/merge-patch.ts'
import { problem } from './http/problems.ts'
import type { Request } from './request.ts'
import { secretsIn } from './schema/secrets.ts'
import { refuseHidden, withHidden } from './visibility.ts'

type Patch = (collection: Collection, item: object, patch: unknown) => unknown

const merge: Patch = (collection, item, patch) => {
  keepSecrets(patch, collection)
  return mergePatch(item, patch)
}

/** A test or a copy in a JSON Patch would tell what may not leave, so that it is given the item without it. */
const operations: Patch = (collection, item, patch) => {
  const { members } = collection
  try {
    if (!members.carries.writeOnly) return jsonPatch(item, patch)
    const result = jsonPatch(concealed(item, members), patch)
    keepSecrets(result, collection)
    return revealed(result, members)
  } catch (thrown) {
    if (!(thrown instanceof PatchRefusal)) throw thrown
    const { kind, detail, index, pointer } = thrown
    throw problem(refusals[kind], { detail, members: { operation: index, pointer } })
  }
}

const refusals = { malformed: 'malformed', inapplicable: 'inapplicable', test: 'test-failed' } as const

function keepSecrets (named: unknown, collection: Collection): void {
  refuseHidden(collection, named)
  const { members } = collection
  const paths = secretsIn(named, members)
  if (paths.length > 0) throw problem('invalid', { detail: 'The patch names what cannot be changed.', members: { errors: paths.map(path => ({ pointer: pointer(path), message: 'cannot be changed once it is set' })) } })
}

/** RFC 5789: the formats of PATCH. Plain JSON is what most clients send, and is read as a merge patch. */
const patches: Readonly<Record<string, Patch>> = {
  'application/merge-patch+json': merge,
  'application/json-patch+json': operations,
  'application/json': merge
}

export const patchTypes: readonly string[] = Object.keys(patches)

/** The item as the patch that the client sent would have it. */
export function patched (collection: Collection, request: Request, item: object): unknown {
  const patch = patches[mediaType(request.fields['content-type']) ?? ''] ?? merge
  return withHidden(collection, patch(collection, item, parsed(request, parseIJson, collection.schema)), item)
}
