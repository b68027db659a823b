import { judge } from './access.ts'
import type { Collection } from './definition.ts'
import { HookError } from './fault.ts'
import { parseDate } from './http/date.ts'
import { conditional, constrains, evaluate } from './http/preconditions.ts'
import type { Validators } from './http/preconditions.ts'
import { Problem, problem } from './http/problems.ts'
import { findEntries } from './listing/entries.ts'
import { limitLength } from './listing/page-length.ts'
import { parseListQuery } from './listing/query-string.ts'
import { joinedFilter, scopedBy } from './narrowing.ts'
import { badParameter } from './query.ts'
import { modifiedOf, tagOf, versionOfList, versionsOf } from './representation.ts'
import type { Request } from './request.ts'
import { scopeOf } from './scope.ts'
import type { Context, Entry, Filter, Storage } from './storage/contract.ts'
import { versionOf, viewOf } from './view.ts'

/**
 * RFC 9110, section 13, for a read: whether the client has it already; 412 if the precondition fails.
 * A date from before the definition was created is ignored: a deploy may have hidden a property since, and the item has no date for that.
 */
export function isNotModified (collection: Collection, { fields }: Request, current: Validators): boolean | Problem {
  const { 'if-modified-since': since, ...others } = fields
  const isOld = since !== undefined && (parseDate(since)?.getTime() ?? 0) < collection.definedAt
  const outcome = evaluate({ safe: true, fields: isOld ? others : fields, current })
  if (outcome === 'failed') return preconditionFailed()
  return outcome === 'not modified'
}

/** Whether a write has to read the item before. */
export function dependsOnItem ({ precondition }: Collection, { fields }: Request): boolean {
  return precondition === 'required' || conditional(fields)
}

/** RFC 9110, section 13, for a write: 428 if a precondition is missing, 412 if it fails. */
export function checkPreconditions (collection: Collection, request: Request, entry: Entry<object> | undefined): Problem | undefined {
  const { fields } = request
  if (collection.precondition === 'required' && !constrains(fields)) {
    return problem('precondition-required', { detail: 'Read the item, then repeat the request with the field If-Match and the entity tag of what was read.' })
  }
  if (!conditional(fields)) return undefined
  const current = entry && validators(collection, request, { version: versionOf(collection, entry), modified: modifiedOf(collection, entry) })
  return evaluate({ safe: false, fields, current, weak: collection.weakTags }) === 'failed' ? preconditionFailed() : undefined
}

/** A write is held to a version, in whatever format it was read. */
function validators (collection: Collection, { format }: Request, { version, modified }: { version: string, modified: Date | undefined }): Validators {
  const others = () => collection.formats.filter(other => other !== format).map(other => tagOf(collection, version, other))
  return { tag: tagOf(collection, version, format), others, modified }
}

/**
 * The precondition of a POST is about the collection: the list that a GET of the same URI would return.
 * Returns a function that checks it again inside the transaction of the write, which may run much later.
 */
export async function checkList (collection: Collection, request: Request): Promise<NonNullable<Request['checkAgain']> | Problem> {
  if (collection.storage.exclusive === undefined) return problem('bad-request', { detail: 'This collection cannot make a POST depend on its list. Repeat the request without If-Match and If-None-Match.' })
  const question = parseListQuery(collection, request)
  if (question instanceof Problem) return question
  // A feature may read other collections, which is not possible inside the transaction.
  for (const name in question.features) return badParameter(name, 'left out of a POST with a precondition')
  const context = await contextOfList(collection, request)
  if (context instanceof Problem) return context
  const checkAgain = async (storage: Storage<object>): Promise<Problem | undefined> => {
    const found = await findEntries({ ...collection, storage }, question, context)
    if (found instanceof Problem) return found
    const view = await viewOf(collection, found.page.entries, { question, request })
    const page = limitLength(collection, found.page, { query: found.query, question, view })
    if (page instanceof Problem) return page
    const current = validators(collection, request, { version: versionOfList(versionsOf(collection, page, view)), modified: undefined })
    return evaluate({ safe: false, fields: request.fields, current, weak: collection.weakTags }) === 'failed' ? preconditionFailed() : undefined
  }
  return await checkAgain(collection.storage) ?? checkAgain
}

/** Who makes an item may see other rows of the list, or none at all. */
async function contextOfList (collection: Collection, { context, fixed = {}, original }: Request): Promise<Context | Problem> {
  if (collection.guard === undefined) return context
  const { caller, refusal } = await judge(collection.guard, 'list', original)
  if (refusal instanceof Problem) return refusal
  if (refusal !== undefined) throw new HookError(refusal)
  const scope = await scopeOf(collection, { action: 'list', incoming: original, caller })
  const place = Object.entries(fixed).map(([member, value]): Filter => ({ member, is: 'eq', value }))
  return scopedBy(joinedFilter(place[0], scope?.filter), context)
}

function preconditionFailed (): Problem {
  return problem('stale', { detail: 'The resource is not in the state that the precondition of the request asks for. Read it again, then decide.' })
}
