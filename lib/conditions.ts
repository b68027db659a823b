import { admitted } from './access.ts'
import type { Collection } from './definition.ts'
import { viewOf } from './expansion.ts'
import { parseDate } from './http/date.ts'
import { conditional, constrains, evaluate } from './http/preconditions.ts'
import type { Validators } from './http/preconditions.ts'
import { problem } from './http/problems.ts'
import { entries } from './listing/entries.ts'
import { limitLength } from './listing/page-length.ts'
import { askedInString } from './listing/query-string.ts'
import { joinedFilter, scopedBy } from './narrowing.ts'
import { badParameter } from './query.ts'
import { modifiedOf, tagOf, versionOfList, versionsOf } from './representation.ts'
import type { Request } from './request.ts'
import { scopeOf } from './scope.ts'
import type { Context, Entry, Filter, Storage } from './storage/contract.ts'
import { versionOf } from './view.ts'

/**
 * RFC 9110, section 13, for a read: whether the client has it already; 412 where the precondition does not hold.
 * A date from before the definition was created is ignored: a deploy may have hidden a property since, and the item has no date for that.
 */
export function unmodified (collection: Collection, { fields }: Request, current: Validators): boolean {
  const { 'if-modified-since': since, ...others } = fields
  const isOld = since !== undefined && (parseDate(since)?.getTime() ?? 0) < collection.definedAt
  const outcome = evaluate({ safe: true, fields: isOld ? others : fields, current })
  if (outcome === 'failed') throw stale()
  return outcome === 'not modified'
}

/** Whether a write has to know what is there. */
export function looks ({ precondition }: Collection, { fields }: Request): boolean {
  return precondition === 'required' || conditional(fields)
}

/** RFC 9110 section 13, for a write: 428 where a precondition is due, 412 where it does not hold. */
export function check (collection: Collection, request: Request, entry: Entry<object> | undefined): void {
  const { fields } = request
  if (collection.precondition === 'required' && !constrains(fields)) {
    throw problem('precondition-required', { detail: 'Read the item, then repeat the request with the field If-Match and the entity tag of what was read.' })
  }
  if (!conditional(fields)) return
  const current = entry && validators(collection, request, { version: versionOf(collection, entry), modified: modifiedOf(collection, entry) })
  if (evaluate({ safe: false, fields, current, weak: collection.weakTags }) === 'failed') throw stale()
}

/** A write is held to a version, in whatever format it was read. */
function validators (collection: Collection, { format }: Request, { version, modified }: { version: string, modified: Date | undefined }): Validators {
  const others = () => collection.formats.filter(other => other !== format).map(other => tagOf(collection, version, other))
  return { tag: tagOf(collection, version, format), others, modified }
}

/**
 * A POST asks its precondition of the collection: of the list that a GET of the same URI would give.
 * Gives what checks it again, within the transaction that writes, which may follow long after.
 */
export async function checkList (collection: Collection, request: Request): Promise<(storage: Storage<object>) => Promise<void>> {
  if (collection.storage.exclusive === undefined) throw problem('bad-request', { detail: 'This collection cannot make a POST depend on its list. Repeat the request without If-Match and If-None-Match.' })
  const question = askedInString(collection, request)
  // Other collections cannot be read within the transaction.
  if (question.expand !== undefined) throw badParameter('expand', 'left out of a POST with a precondition')
  const context = await contextOfList(collection, request)
  const checkAgain = async (storage: Storage<object>): Promise<void> => {
    const { page: found, query } = await entries({ ...collection, storage }, question, context)
    const view = await viewOf(collection, found.entries, { ...question, request })
    const page = limitLength(collection, found, { query, question, view })
    const current = validators(collection, request, { version: versionOfList(versionsOf(collection, page, view)), modified: undefined })
    if (evaluate({ safe: false, fields: request.fields, current, weak: collection.weakTags }) === 'failed') throw stale()
  }
  await checkAgain(collection.storage)
  return checkAgain
}

/** Who makes an item may see other rows of the list, or none at all. */
async function contextOfList (collection: Collection, { context, fixed = {}, original }: Request): Promise<Context> {
  if (collection.guard === undefined) return context
  const caller = await admitted(collection, 'list', original)
  const scope = await scopeOf(collection, { action: 'list', incoming: original, caller })
  const place = Object.entries(fixed).map(([member, value]): Filter => ({ member, is: 'eq', value }))
  return scopedBy(joinedFilter(place[0], scope?.filter), context)
}

function stale () {
  return problem('stale', { detail: 'The resource is not in the state that the precondition of the request asks for. Read it again, then decide.' })
}
