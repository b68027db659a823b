import type { Result } from '../action.ts'
import { checkPreconditions } from '../engine/preconditions.ts'
import type { Collection } from '../collection.ts'
import { Problem, problem } from '../http/problems.ts'
import { commitWrite } from '../engine/commit.ts'
import type { ItemWrite } from '../engine/commit.ts'
import { buildItem, completeContent } from '../engine/build.ts'
import { applyPatch } from '../engine/patch.ts'
import type { Call, Request } from '../request/request.ts'
import { respondToUpdate } from '../response/write-response.ts'

/** PATCH of an item: changes some of its properties. */
export function update (collection: Collection, request: Request): Promise<Result> {
  return commitWrite(collection, request, {
    action: 'update',
    decide: decideUpdate(collection, request),
    respond: ({ after }) => respondToUpdate(collection, request, after)
  })
}

/** Returns the function that decides what an update writes. */
export function decideUpdate (collection: Collection, request: Call): ItemWrite['decide'] {
  return async (current) => {
    if (current === undefined) return problem('not-found')

    const failed = checkPreconditions(collection, request, current)
    if (failed !== undefined) return failed

    const patched = applyPatch(request, current.item)
    if (patched instanceof Problem) return patched
    const content = completeContent(collection, request, { kind: 'update', value: patched.value, before: current })
    if (content instanceof Problem) return content
    const { value, base } = content
    return buildItem(collection, request, { kind: 'update', content: value, before: current, base })
  }
}
