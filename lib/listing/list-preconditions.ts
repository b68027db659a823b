import { evaluateAccess } from '../access/authorize.ts'
import { getValidators, preconditionFailed } from '../items/preconditions.ts'
import type { Collection } from '../collection.ts'
import { HookError } from '../failure.ts'
import { evaluatePreconditions } from '../http/preconditions.ts'
import { Problem, problem } from '../http/problems.ts'
import { joinFilters, withScope } from '../storage/filter.ts'
import { badParameter } from '../request/query.ts'
import { hashVersions, joinVersions } from '../response/representation.ts'
import type { Request } from '../request/request.ts'
import { readScope } from '../access/scope.ts'
import type { Context, Filter, Storage } from '../storage/contract.ts'
import { buildView } from '../response/view.ts'
import { findEntries } from './entries.ts'
import { limitPageLength } from './page-length.ts'
import { parseListQuery } from './query-string.ts'

/**
 * Checks the precondition of a POST, which is about the list that a GET of the same URI would return.
 * Returns a function that checks it again inside the transaction of the write, which may run much later.
 */
export async function checkListPreconditions (
  collection: Collection,
  request: Request
): Promise<NonNullable<Request['checkAgain']> | Problem> {
  if (collection.storage.exclusive === undefined) {
    return problem('bad-request', {
      detail: 'This collection does not support preconditions on POST. ' +
        'Repeat the request without If-Match and If-None-Match.'
    })
  }
  const listQuery = parseListQuery(collection, request)
  if (listQuery instanceof Problem) return listQuery
  // A feature may read other collections, which is not possible inside the transaction.
  const [feature] = Object.keys(listQuery.features ?? {})
  if (feature !== undefined) return badParameter(feature, 'omitted in a POST with a precondition')
  const context = await getListContext(collection, request)
  if (context instanceof Problem) return context

  const checkAgain = async (storage: Storage<object>): Promise<Problem | undefined> => {
    const found = await findEntries({ ...collection, storage }, listQuery, context)
    if (found instanceof Problem) return found
    const view = await buildView(collection, found.page.entries, { listQuery, request })
    const page = limitPageLength(collection, found.page, { query: found.query, listQuery, view })
    if (page instanceof Problem) return page
    const version = hashVersions(joinVersions(collection, page, view))
    const outcome = evaluatePreconditions({
      safe: false,
      fields: request.fields,
      current: getValidators(collection, request, { version, modified: undefined }),
      weak: collection.etag.acceptWeak
    })
    return outcome === 'failed' ? preconditionFailed() : undefined
  }
  return await checkAgain(collection.storage) ?? checkAgain
}

/** A caller that can create items may see other rows in the list, or may not list at all. */
async function getListContext (
  collection: Collection,
  { context, fixed = {}, original }: Request
): Promise<Context | Problem> {
  if (collection.access === undefined) return context
  const { caller, refusal } = await evaluateAccess(collection.access, 'list', original)
  if (refusal instanceof Problem) return refusal
  if (refusal !== undefined) throw new HookError(refusal)
  const scope = await readScope(collection, { action: 'list', caller, request: original })
  const parentFilters = Object.entries(fixed).map(([property, value]): Filter => ({ property, is: 'eq', value }))
  return withScope(joinFilters(parentFilters[0], scope?.filter), context)
}
