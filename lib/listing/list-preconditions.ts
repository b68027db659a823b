import { evaluateAccess } from '../access/authorize.ts'
import { getValidators, preconditionFailed } from '../items/preconditions.ts'
import type { Collection } from '../collection.ts'
import { HookError } from '../failure.ts'
import { evaluate } from '../http/preconditions.ts'
import { Problem, problem } from '../http/problems.ts'
import { joinFilters, withScope } from '../storage/filter.ts'
import { badParameter } from '../request/query.ts'
import { hashVersions, joinVersions } from '../response/representation.ts'
import type { Request } from '../request/request.ts'
import { readScope } from '../access/scope.ts'
import type { Context, Filter, Storage } from '../storage/contract.ts'
import { buildView } from '../response/view.ts'
import { findEntries } from './entries.ts'
import { limitLength } from './page-length.ts'
import { parseListQuery } from './query-string.ts'

/**
 * The precondition of a POST is about the collection: the list that a GET of the same URI would return.
 * Returns a function that checks it again inside the transaction of the write, which may run much later.
 */
export async function checkList (collection: Collection, request: Request): Promise<NonNullable<Request['checkAgain']> | Problem> {
  if (collection.storage.exclusive === undefined) return problem('bad-request', { detail: 'This collection cannot make a POST depend on its list. Repeat the request without If-Match and If-None-Match.' })
  const question = parseListQuery(collection, request)
  if (question instanceof Problem) return question
  // A feature may read other collections, which is not possible inside the transaction.
  const [feature] = Object.keys(question.features ?? {})
  if (feature !== undefined) return badParameter(feature, 'left out of a POST with a precondition')
  const context = await contextOfList(collection, request)
  if (context instanceof Problem) return context
  const checkAgain = async (storage: Storage<object>): Promise<Problem | undefined> => {
    const found = await findEntries({ ...collection, storage }, question, context)
    if (found instanceof Problem) return found
    const view = await buildView(collection, found.page.entries, { question, request })
    const page = limitLength(collection, found.page, { query: found.query, question, view })
    if (page instanceof Problem) return page
    const current = getValidators(collection, request, { version: hashVersions(joinVersions(collection, page, view)), modified: undefined })
    return evaluate({ safe: false, fields: request.fields, current, weak: collection.etag.acceptWeak }) === 'failed' ? preconditionFailed() : undefined
  }
  return await checkAgain(collection.storage) ?? checkAgain
}

/** Who makes an item may see other rows of the list, or none at all. */
async function contextOfList (collection: Collection, { context, fixed = {}, original }: Request): Promise<Context | Problem> {
  if (collection.access === undefined) return context
  const { caller, refusal } = await evaluateAccess(collection.access, 'list', original)
  if (refusal instanceof Problem) return refusal
  if (refusal !== undefined) throw new HookError(refusal)
  const scope = await readScope(collection, { action: 'list', caller, request: original })
  const place = Object.entries(fixed).map(([property, value]): Filter => ({ property, is: 'eq', value }))
  return withScope(joinFilters(place[0], scope?.filter), context)
}
