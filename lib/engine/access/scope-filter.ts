import { isObject } from '../../http/json-value.ts'
import { parseFilterKey } from '../../query/conditions.ts'
import type { FilterKey } from '../../query/conditions.ts'
import { findQueryable } from '../../query/queryable.ts'
import type { QueryableProperty } from '../../query/queryable.ts'
import type { ItemType } from '../../schema/item-type.ts'
import type { Condition, ItemFilter, Scalar } from '../../storage/contract.ts'

// A filter of `access.scope` has the form of those of QUERY and of calls. What is not exactly that throws: a condition
// that is left out would show rows to everyone.

interface Place {
  /** The name of the collection. */
  readonly name: string
  readonly queryable: ReadonlyMap<string, QueryableProperty>
  /** Where in the filter. */
  readonly at: string
}

const known = new WeakMap<object, Place['queryable']>()

/** Returns the filter for storages. */
export function readScopeFilter (name: string, type: ItemType, given: object): ItemFilter {
  let queryable = known.get(type)
  // The app knows the values that no client may read.
  if (queryable === undefined) known.set(type, queryable = findQueryable(type, { writeOnly: true }))
  return readFilter(given, { name, queryable, at: 'filter' })
}

function readFilter (given: unknown, place: Place): ItemFilter {
  if (!isObject(given)) return fail(place, "must be an object, such as { status: 'open' }")
  const parts = Object.entries(given).map(([key, value]) => {
    return readPart(key, value, { ...place, at: `${place.at}.${key}` })
  })
  return combine(parts, place)
}

function combine (parts: readonly ItemFilter[], place: Place): ItemFilter {
  if (parts.length === 0) return fail(place, 'has no conditions. Return undefined for a caller that sees all rows')
  return parts.length === 1 ? parts[0]! : { all: parts }
}

function readPart (key: string, value: unknown, place: Place): ItemFilter {
  if (key === 'all') return combine(readFilters(value, place), place)
  if (key === 'any') return { any: readFilters(value, place) }
  if (key === 'not') return { not: readFilter(value, place) }
  const parsed = parseFilterKey(key, place.queryable)
  if (parsed === undefined) {
    const names = [...place.queryable.keys()].join(', ')
    return fail(place, `is no property, or has an unknown operator. Properties: ${names}`)
  }
  const { property, is } = parsed
  // What the operator takes was checked.
  return { property, is, value: readOperand(parsed, value, place) } as Condition
}

function readFilters (value: unknown, place: Place): ItemFilter[] {
  if (!Array.isArray(value)) return fail(place, 'must be an array of filters')
  return value.map((part, index) => readFilter(part, { ...place, at: `${place.at}[${index}]` }))
}

/** A value that the property cannot have, such as an id of another form, matches no row. */
function readOperand ({ property, takes }: FilterKey, value: unknown, place: Place): Scalar | readonly Scalar[] {
  if (takes === 'values') {
    if (!Array.isArray(value)) return fail(place, 'must be an array of values')
    return value.map((one, index) => readScalar(one, { ...place, at: `${place.at}[${index}]` }))
  }
  if (value === null) return fail(place, `is null. Write '${property}.null': true for rows without a value`)
  if (takes === 'boolean' && typeof value !== 'boolean') return fail(place, 'must be true or false')
  if (takes === 'pattern' && typeof value !== 'string') return fail(place, 'must be a text')
  return readScalar(value, place)
}

function readScalar (value: unknown, place: Place): Scalar {
  if (value instanceof Date) return value.toISOString()
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value
  return fail(place, value === undefined
    ? 'has no value. Refuse such a caller with access.allow, or throw a problem'
    : 'must be a text, a number, a boolean or a Date')
}

function fail ({ name, at }: Place, message: string): never {
  throw new TypeError(`The scope of the collection ${name}: ${at} ${message}.`)
}
