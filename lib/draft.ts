import type { Collection } from './definition.ts'
import { pointer } from './http/json-pointer.ts'
import { equal, isObject } from './http/json-value.ts'
import { contradict, hold, invalid, named, prepared, unprepared } from './item.ts'
import type { Request } from './request.ts'
import { canonicalDates } from './schema/date-times.ts'
import { filled, without } from './schema/marks.ts'
import { bounded } from './scope.ts'
import type { Id } from './storage/contract.ts'
import { timestamp } from './timestamps.ts'

// Out of what a client sent, a new item; 422 where it does not fit.

interface Sent {
  readonly content: unknown
  /** The id that the URI names. */
  readonly id?: Id | undefined
}

/** What was sent, beside what is said of the item otherwise. */
export interface Draft extends Sent {
  /** The id that the URI names, or one made for the item; without it, that is the client's or the storage's affair. */
  readonly own: Id | undefined
}

/** The new item, or 422. */
export function drafted (collection: Collection, request: Request, sent: Sent): object | Promise<object> {
  const draft = draftOf(collection, request, sent)
  hold(collection.validate.draft, draft.content)
  return begun(collection, request, draft)
}

export function draftOf ({ members, dateTimes, id: { member, mint } }: Collection, { fixed, scope }: Request, { content: sent, id }: Sent): Draft {
  const content = canonicalDates(sent, dateTimes)
  if (fixed !== undefined) contradict(content, fixed)
  if (id !== undefined) contradict(content, { [member]: id })
  if (scope !== undefined) overstep(content, scope.values)
  const own = id ?? mint?.()
  const said: Record<string, unknown> = { ...scope?.values }
  if (own !== undefined) said[member] = own
  if (fixed !== undefined) Object.assign(said, fixed)
  const whole = filled(named(without(content, members, 'readOnly'), said), members)
  return { content: canonicalDates(whole, dateTimes), id, own }
}

/** By new item: the values that the scope of the caller and the URI have set in it. */
const imposed = new WeakMap<object, Readonly<Record<string, unknown>>>()

/** The values that no client can choose, of an item that the hook `prepare` was given. */
export function getImposedValues (item: object): Readonly<Record<string, unknown>> {
  return imposed.get(item) ?? {}
}

/** The item that is made of a draft that fits. */
export function begun (collection: Collection, request: Request, { content, id, own }: Draft): object | Promise<object> {
  const { created, updated } = collection.timestamps
  // Read from the content of this request alone, so it is ours to add to.
  const item = content as Record<string, unknown>
  const now = timestamp()
  if (created !== undefined) item[created] = now
  if (updated !== undefined) item[updated] = now
  if (!collection.hooks.prepare) return addressable(collection, unprepared(collection, request, item), own)
  if (request.scope !== undefined || request.fixed !== undefined) imposed.set(item, { ...request.scope?.values, ...request.fixed })
  return prepared(collection, { action: 'create', item, before: undefined, request: request.original }, id).then(whole => bounded(addressable(collection, whole, own), request))
}

/** An id that the library has not made itself has to stand in a URI, or the item could not be reached. */
function addressable ({ id: { member, read } }: Collection, item: object, own: Id | undefined): object {
  const id: unknown = Reflect.get(item, member)
  if (id !== own && read(String(id)) !== id) throw invalid([{ pointer: pointer([member]), message: 'cannot stand in a URI' }])
  return item
}

/** A new item is the caller's, whoever it claims to be. */
function overstep (content: unknown, values: Readonly<Record<string, unknown>>): void {
  if (!isObject(content)) return
  const wrong = Object.keys(values).filter(member => Object.hasOwn(content, member) && !equal(content[member], values[member]))
  if (wrong.length > 0) throw invalid(wrong.map(member => ({ pointer: pointer([member]), message: `must be ${JSON.stringify(values[member])}, or be left out` })))
}
