import { isAllowed } from '../access/authorize.ts'
import type { Result } from '../action.ts'
import { checkPreconditions } from '../engine/preconditions.ts'
import { readContent } from '../request/content.ts'
import type { Collection } from '../collection.ts'
import { Problem, problem } from '../http/problems.ts'
import { commitWrite } from '../engine/commit.ts'
import type { ItemWrite } from '../engine/commit.ts'
import { buildItem, completeContent } from '../engine/build.ts'
import { buildItemPath } from '../response/links.ts'
import { getCollectionPath } from '../request/request.ts'
import type { Call, Request } from '../request/request.ts'
import { respondToWrite } from '../response/write-response.ts'

/** PUT of an item: replaces it, or creates it if the definition allows that. */
export async function replace (collection: Collection, request: Request): Promise<Result> {
  const canCreate = collection.put.create &&
    (collection.access === undefined || await isAllowed(collection, 'create', request.original))
  return commitWrite(collection, request, {
    action: 'replace',
    decide: decideReplace(collection, request, canCreate),
    respond ({ before, after }) {
      const path = getCollectionPath(request)
      return respondToWrite(collection, request, {
        entry: after,
        status: before === undefined ? 201 : 200,
        path: { collection: path, item: before === undefined ? buildItemPath(path, after.id) : request.path },
        sent: collection.etag.onPut === 'always' ? undefined : request.content
      })
    }
  })
}

/** Returns the function that decides what a replace writes. */
export function decideReplace (collection: Collection, request: Call, canCreate: boolean): ItemWrite['decide'] {
  return async (current, id) => {
    if (current === undefined && !canCreate) return problem('not-found')

    // Before the content is read: RFC 9110, section 13.2.1.
    const failed = checkPreconditions(collection, request, current)
    if (failed !== undefined) return failed

    const sent = readContent(collection, request)
    if (sent instanceof Problem) return sent
    if (current === undefined) return buildItem(collection, request, { kind: 'create', content: sent.value, id })
    const content = completeContent(collection, request, { kind: 'replace', value: sent.value, before: current })
    if (content instanceof Problem) return content
    const { value, base } = content
    return buildItem(collection, request, { kind: 'replace', content: value, before: current, base })
  }
}
