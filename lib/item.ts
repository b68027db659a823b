import { carriedOver } from './schema/carried-over.ts'
import type { Collection } from './definition.ts'
import { canonicalDates } from './schema/date-times.ts'
import type { Failure } from './schema/failures.ts'
import { pointer } from './http/json-pointer.ts'
import { isObject } from './http/json-value.ts'
import { problem } from './http/problems.ts'
import type { Problem } from './http/problems.ts'
import { differences, filled } from './schema/marks.ts'
import type { Mark } from './schema/members.ts'
import { withoutSecrets } from './schema/secrets.ts'
import type { Change } from './options.ts'
import type { Request } from './request.ts'
import { bounded, keptValues } from './scope.ts'
import type { Entry, Id } from './storage/contract.ts'
import { timestamp } from './timestamps.ts'
import type { Validator } from './schema/validation.ts'

// Out of what a client sent, the item that takes the place of another; 422 where it does not fit.

/** The item that takes the place of another, out of a complete representation. What a client cannot send, or has not seen, is kept. */
export function replaced (collection: Collection, request: Request, { content: sent, before }: { content: unknown, before: Entry<object> }): object | Promise<object> {
  const { members, dateTimes } = collection
  const content = canonicalDates(sent, dateTimes)
  // A computed name in a literal would cost 3 % of a GET and a PUT over memory.
  const said: Record<string, Id> = {}
  said[collection.id.member] = before.id
  if (request.fixed !== undefined) Object.assign(said, request.fixed)
  contradict(content, said)
  const kept = request.scope === undefined ? said : { ...keptValues(request.scope, before.item), ...said }
  const item = carriedOver(named(withoutSecrets(content, members), kept), before.item, members)
  return revised(collection, { action: 'replace', item: canonicalDates(filled(item, members), dateTimes), before, request })
}

/** The item that takes the place of another, out of what a patch made of it. */
export function updated (collection: Collection, request: Request, { result: patched, before }: { result: unknown, before: Entry<object> }): object | Promise<object> {
  const result = canonicalDates(patched, collection.dateTimes)
  unchanged(collection, { before: before.item, after: result, mark: 'readOnly' })
  if (request.fixed !== undefined) contradict(result, request.fixed, 'complete')
  return revised(collection, { action: 'update', item: result, before, request })
}

interface Revision {
  readonly action: 'replace' | 'update'
  readonly item: unknown
  readonly before: Entry<object>
  readonly request: Request
}

function revised (collection: Collection, { action, item, before, request }: Revision): object | Promise<object> {
  hold(collection.validate.draft, item)
  unchanged(collection, { before: before.item, after: item, mark: 'immutable' })
  const { updated } = collection.timestamps
  const whole = updated === undefined ? item : { ...item, [updated]: timestamp() }
  if (!collection.hooks.prepare) return unprepared(collection, request, whole)
  // The hook may change what it is given, of which parts are those of the item that is stored.
  return prepared(collection, { action, item: structuredClone(whole), before: before.item, request: request.original }, before.id).then(whole => bounded(whole, request))
}

/** Where no hook is asked, and others than the client may have filled the item, or not. */
export function unprepared ({ validate }: Collection, request: Request, item: object): object {
  if (validate.item !== validate.draft) hold(validate.item, item)
  return bounded(item, request)
}

/** What the hook `prepare` has thrown: it refuses the write in its own words. */
export class HookError {
  readonly cause: unknown

  constructor (cause: unknown) {
    this.cause = cause
  }
}

/** `id` is the one that the URI names. */
export async function prepared (collection: Collection, change: Change<object>, id: Id | undefined): Promise<object> {
  const item: unknown = canonicalDates(await asked(collection, change), collection.dateTimes)
  if (!isObject(item)) throw new TypeError(`The hook "prepare" of the collection ${collection.name} gave no item. Return the item that is to be written.`)
  hold(collection.validate.item, item)
  if (id !== undefined && item[collection.id.member] !== id) throw new TypeError(`The hook "prepare" of the collection ${collection.name} changed the id. An id stays what it is.`)
  return item
}

async function asked (collection: Collection, change: Change<object>): Promise<unknown> {
  try {
    return await collection.prepare(change)
  } catch (error) {
    throw new HookError(error)
  }
}

export function hold (validate: Validator, item: unknown): asserts item is object {
  const refusal = misfit(validate, item)
  if (refusal !== undefined) throw refusal
}

/** What refuses an item that does not fit. */
export function misfit (validate: Validator, item: unknown): Problem | undefined {
  const failures = validate(item)
  return failures === undefined ? undefined : invalid(failures)
}

export function invalid (failures: readonly Failure[]): Problem {
  const count = failures.length
  return problem('invalid', { detail: count === 1 ? 'One member does not fit.' : `${count} members do not fit.`, members: { errors: failures } })
}

function unchanged (collection: Collection, { before, after, mark }: { before: object, after: unknown, mark: Mark }): void {
  const { members, dateTimes } = collection
  let paths = isObject(after) ? differences(before, after, members, mark) : []
  // What is stored may be from before date-times had one form, or from another writer.
  if (paths.length > 0 && dateTimes !== undefined) paths = differences(canonicalDates(before, dateTimes), after, members, mark)
  if (paths.length > 0) throw invalid(paths.map(path => ({ pointer: pointer(path), message: mark === 'readOnly' ? 'is read-only' : 'cannot be changed once it is set' })))
}

/** What the URI says of the item. */
type Said = Readonly<Record<string, Id>>

/** An id is read-only, and so ignored, but to name another item than the URI does is a contradiction. */
export function contradict (content: unknown, said: Said, extent: 'partial' | 'complete' = 'partial'): void {
  if (!isObject(content)) return
  for (const member in said) {
    if ((extent === 'complete' || Object.hasOwn(content, member)) && content[member] !== said[member]) throw invalid([{ pointer: pointer([member]), message: `contradicts the URI, which names ${JSON.stringify(said[member])}` }])
  }
}

/** What the client sent, beside what is said of the item otherwise. */
export function named (value: unknown, said: Readonly<Record<string, unknown>>): unknown {
  return isObject(value) ? { ...said, ...value } : value
}
