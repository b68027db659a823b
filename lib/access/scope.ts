import type { ActionName } from '../action.ts'
import { pointer } from '../http/json-pointer.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import type { Guarded } from './access.ts'
import type { Request } from '../request/request.ts'
import { canonicalDates, canonicalFilter } from '../schema/date-times.ts'
import type { Filter, Scalar } from '../storage/contract.ts'
import { matches } from '../storage/matching.ts'

// The rows that a caller can see and touch: all others are absent to it.

export interface Scope {
  readonly filter: Filter
  /** What a new item has to carry. */
  readonly values: Readonly<Record<string, unknown>>
}

interface Asking {
  readonly action: ActionName
  readonly incoming: Request['original']
  readonly caller: string | undefined
}

/** Undefined where the caller sees every row. What is not understood lets nobody see anything. */
export async function scopeOf ({ name, guard, dateTimes }: Guarded, { action, incoming, caller }: Asking): Promise<Scope | undefined> {
  if (guard?.scope === undefined) return undefined
  const given = await guard.scope(incoming, action, caller)
  if (given === undefined) return undefined
  const values = canonicalDates({ ...given.values }, dateTimes)
  for (const [property, value] of Object.entries(values)) {
    if (value === undefined) throw new TypeError(`The scope of the collection ${name} has no value for "${property}". Refuse such a caller by access, or throw a problem.`)
  }
  return { filter: given.filter === undefined ? equality(name, values) : canonicalFilter(given.filter, dateTimes), values }
}

function equality (name: string, values: Scope['values']): Filter {
  const conditions = Object.entries(values).map(([property, value]): Filter => {
    if (value === null) return { property, is: 'null', value: true }
    if (!isScalar(value)) throw new TypeError(`The scope of the collection ${name} has a value for "${property}" that no filter can compare. Add a filter.`)
    return { property, is: 'eq', value }
  })
  if (conditions.length === 0) throw new TypeError(`The scope of the collection ${name} has neither filter nor values. Return undefined for a caller that sees every row.`)
  return { all: conditions }
}

function isScalar (value: unknown): value is Scalar {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

/** A caller cannot write an item that it could not see afterwards. */
export function checkScope (item: object, { filter }: Scope): Problem | undefined {
  const properties = strays(filter, item)
  if (properties.length === 0) return undefined
  return problem('validation-failed', { detail: 'The caller could not see the item after this write.', members: { errors: [...new Set(properties)].map(property => ({ pointer: pointer(property.split('.')), message: 'is outside the scope of the caller' })) } })
}

/** The properties by which an item does not match. */
function strays (filter: Filter, item: object): string[] {
  if (matches(filter, item)) return []
  return 'all' in filter ? filter.all.flatMap(part => strays(part, item)) : named(filter)
}

function named (filter: Filter): string[] {
  if ('property' in filter) return [filter.property]
  return 'not' in filter ? named(filter.not) : ('all' in filter ? filter.all : filter.any).flatMap(named)
}

/** What stands in the place of the values of the scope that a complete representation leaves out: what was there. */
export function keptValues ({ values }: Scope, before: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).map(([property, value]) => [property, Object.hasOwn(before, property) ? Reflect.get(before, property) : value]))
}
