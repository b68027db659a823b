import { isObject } from '../http/json-value.ts'
import type { Condition, ItemFilter, JsonSchema, Scalar } from '../storage/contract.ts'
import { toInstant } from '../storage/instant.ts'
import { hasBelow, PlaceReader } from './places.ts'
import type { Part, Place } from './places.ts'
import { getBranches, getOpenSchemas } from '../json-schema/subschemas.ts'
import { isDateTime } from './validation.ts'

// Every date-time is normalized to UTC with milliseconds before it is compared or stored.
// The order of such strings is the order of the instants, in every storage and at every depth.

/** The places of date-times in the values of a schema. Places without one are left out, unless `others` has one. */
export interface DateTimes extends Place<DateTimes> {
  /** Whether a string here is a date-time. */
  readonly isDateTime: boolean
}

/** Finds the date-times of a schema; undefined if it has none. The id is left out: it is an opaque name. */
export function findDateTimes (schema: JsonSchema, id: string): DateTimes | undefined {
  const properties = { ...schema.properties, [id]: anySchema }
  const reader = new PlaceReader<DateTimes>(schema, {
    create: (parts) => ({ isDateTime: isAlwaysDateTime(parts), named: new Map(), others: undefined, items: undefined }),
    findSchemas: findPropertySchemas
  })
  const found = reader.read({ ...schema, properties })
  return prune(reader.places).has(found) ? found : undefined
}

/** Removes places that have no date-time at or below them. Returns those that have one. */
function prune (places: readonly DateTimes[]): ReadonlySet<DateTimes> {
  const kept = new Set(places.filter((place) => place.isDateTime || hasBelow(place, (below) => below.isDateTime)))
  const keep = (place?: DateTimes): DateTimes | undefined => place && (kept.has(place) ? place : undefined)
  for (const place of kept) {
    place.others = keep(place.others)
    place.items = keep(place.items)
    for (const [name, below] of place.named) {
      // If it was not named, it would be one of the others.
      if (!kept.has(below) && place.others === undefined) place.named.delete(name)
    }
  }
  return kept
}

/** A branch of a union that does not name the property may still allow it, with another meaning. */
function findPropertySchemas ({ schema, isChoice }: Part, name: string): readonly JsonSchema[] {
  const { properties, additionalProperties } = schema
  if (properties !== undefined && Object.hasOwn(properties, name)) return [properties[name]!]
  const isOpen = additionalProperties === true || isOpenObject(schema)
  return isChoice && isOpen ? [anySchema] : getOpenSchemas(schema)
}

const anySchema: JsonSchema = {}

function isOpenObject (schema: JsonSchema): boolean {
  const { type = 'object', properties, patternProperties } = schema
  return [type].flat().includes('object') &&
    properties === undefined &&
    patternProperties === undefined &&
    schema.$ref === undefined &&
    getBranches(schema).length === 0 &&
    getOpenSchemas(schema).length === 0
}

/** Whether every string that the schemas allow is a date-time. */
function isAlwaysDateTime (parts: readonly Part[]): boolean {
  const strings = parts.map(({ schema }) => schema).filter(canBeString)
  return strings.length > 0 && strings.every(({ format }) => format === 'date-time')
}

function canBeString (schema: JsonSchema): boolean {
  const { type, const: constant, enum: values } = schema
  if (type !== undefined) return [type].flat().includes('string')
  if (constant !== undefined) return typeof constant === 'string'
  if (Array.isArray(values)) return values.some((value) => typeof value === 'string')
  // A schema that only combines or references others states nothing itself.
  return schema.$ref === undefined && getBranches(schema).length === 0
}

/**
 * Returns the value with normalized date-times; the same object if nothing changes.
 * Strings that are not date-times are left to the validator.
 */
export function normalizeDates<Value> (value: Value, dates: DateTimes | undefined): Value {
  return dates === undefined ? value : normalizeValue(value, dates) as Value
}

function normalizeValue (value: unknown, dates: DateTimes): unknown {
  if (typeof value === 'string') return dates.isDateTime ? normalizeDate(value) : value
  if (Array.isArray(value)) return dates.items === undefined ? value : normalizeItems(value, dates.items)
  return isObject(value) ? normalizeObject(value, dates) : value
}

function normalizeItems (items: readonly unknown[], dates: DateTimes): readonly unknown[] {
  const normalized = items.map((item) => normalizeValue(item, dates))
  return normalized.some((item, index) => item !== items[index]) ? normalized : items
}

function normalizeObject (value: Record<string, unknown>, { named, others }: DateTimes): Record<string, unknown> {
  let result = value
  const normalizeProperty = (name: string, dates: DateTimes): void => {
    const normalized = normalizeValue(value[name], dates)
    if (normalized === value[name]) return
    if (result === value) result = { ...value }
    result[name] = normalized
  }
  for (const [name, dates] of named) {
    if (Object.hasOwn(value, name)) normalizeProperty(name, dates)
  }
  if (others === undefined) return result
  for (const name of Object.keys(value)) {
    if (!named.has(name)) normalizeProperty(name, others)
  }
  return result
}

/** A string that is not a date-time, or is out of range, is returned unchanged. */
function normalizeDate (text: string): string {
  const instant = toInstant(text)
  // toInstant also parses what databases write; the format `date-time` is narrower.
  return instant === undefined || instant === text || !isDateTime(text) ? text : instant
}

/** Returns the filter with normalized date-times. */
export function normalizeFilter (filter: ItemFilter, dates: DateTimes | undefined): ItemFilter {
  if (dates === undefined) return filter
  if ('all' in filter) return { all: filter.all.map((part) => normalizeFilter(part, dates)) }
  if ('any' in filter) return { any: filter.any.map((part) => normalizeFilter(part, dates)) }
  if ('not' in filter) return { not: normalizeFilter(filter.not, dates) }
  return normalizeCondition(filter, dates)
}

function normalizeCondition (condition: Condition, dates: DateTimes): Condition {
  if (!comparesValues(condition)) return condition
  let place: DateTimes | undefined = dates
  for (const name of condition.property.split('.')) place = place?.named.get(name) ?? place?.others
  if (condition.is === 'contains' || condition.is === 'overlaps') place = place?.items
  return place?.isDateTime === true ? normalizeOperand(condition) : condition
}

function comparesValues ({ is }: Condition): boolean {
  return is !== 'like' && is !== 'ilike' && is !== 'null'
}

/** Normalizes the operand of a condition on a date-time. */
export function normalizeOperand (condition: Condition): Condition {
  if (!comparesValues(condition)) return condition
  const { value } = condition
  // Lists stay lists and scalars stay scalars, as the operator requires.
  const normalized = Array.isArray(value) ? value.map(normalizeScalar) : normalizeScalar(value as Scalar)
  return { ...condition, value: normalized } as Condition
}

function normalizeScalar (value: Scalar): Scalar {
  return typeof value === 'string' ? normalizeDate(value) : value
}
