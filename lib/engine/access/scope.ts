import { toPointer } from '../../http/json-pointer.ts'
import { toJsonValue } from '../../http/json-value.ts'
import type { JsonObject } from '../../http/json-value.ts'
import { problem } from '../../http/problems.ts'
import type { Problem } from '../../http/problems.ts'
import type { AccessContext, Protected } from './rules.ts'
import { normalizeDates, normalizeFilter } from '../../schema/date-times.ts'
import type { ItemFilter, Scalar } from '../../storage/contract.ts'
import { matches } from '../../storage/matching.ts'
import { readScopeFilter } from './scope-filter.ts'

// The rows that a caller can read and write. Others do not exist for that caller.

export interface Scope {
  readonly filter: ItemFilter
  /** The values that a new item gets. */
  readonly values: Readonly<Record<string, unknown>>
}

/** Calls `access.scope`. Undefined means all rows; an invalid result throws, so that no row is visible. */
export async function readScope (
  { name, access, type }: Protected,
  context: AccessContext
): Promise<Scope | undefined> {
  if (access?.scope === undefined) return undefined
  const given = await access.scope(context)
  if (given === undefined) return undefined
  for (const [property, value] of Object.entries({ ...given.values })) checkValue(name, property, value)
  const { dateTimes } = type
  // The app may keep and change what it returns. A copy of an object is one.
  const values = normalizeDates(toJsonValue({ ...given.values }) as JsonObject, dateTimes)
  const filter = given.filter === undefined
    ? buildFilter(name, values)
    : normalizeFilter(readScopeFilter(name, type, given.filter), dateTimes)
  return { filter, values }
}

function checkValue (name: string, property: string, value: unknown): void {
  if (value !== undefined) return
  throw new TypeError(`The scope of the collection ${name} has no value for "${property}". ` +
    'Refuse such a caller with access.allow, or throw a problem.')
}

/** The rows that have these values. */
function buildFilter (name: string, values: Scope['values']): ItemFilter {
  const conditions = Object.entries(values).map(([property, value]): ItemFilter => {
    if (value === null) return { property, is: 'null', value: true }
    if (!isScalar(value)) {
      throw new TypeError(`The scope of the collection ${name} has a value for "${property}" ` +
        'that no filter can compare. Add a filter.')
    }
    return { property, is: 'eq', value }
  })
  if (conditions.length === 0) {
    throw new TypeError(`The scope of the collection ${name} has neither filter nor values. ` +
      'Return undefined for a caller that sees all rows.')
  }
  return { all: conditions }
}

function isScalar (value: unknown): value is Scalar {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

/** A caller cannot write an item that it could not see afterwards. Properties that are hidden from it are not named. */
export function checkScope (
  item: object,
  { filter }: Scope,
  hidden: ReadonlySet<string> | undefined
): Problem | undefined {
  const properties = findMismatches(filter, item)
  if (properties.length === 0) return undefined
  const paths = properties.map((property) => property.split('.'))
  const pointers = paths.map((path) => hidden?.has(path[0]!) === true ? '' : toPointer(path))
  const errors = [...new Set(pointers)].map((pointer) => {
    return { pointer, message: 'is outside the scope of the caller' }
  })
  return problem('validation-failed', {
    detail: 'The caller could not see the item after this write.',
    properties: { errors }
  })
}

/** The properties because of which an item does not match. */
function findMismatches (filter: ItemFilter, item: object): string[] {
  if (matches(filter, item)) return []
  return 'all' in filter ? filter.all.flatMap((part) => findMismatches(part, item)) : getProperties(filter)
}

function getProperties (filter: ItemFilter): string[] {
  if ('property' in filter) return [filter.property]
  if ('not' in filter) return getProperties(filter.not)
  return ('all' in filter ? filter.all : filter.any).flatMap(getProperties)
}
