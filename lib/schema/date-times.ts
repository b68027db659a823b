import { isObject } from '../http/json-value.ts'
import type { Condition, ItemFilter, JsonSchema, Scalar } from '../storage/contract.ts'
import { toInstant } from '../storage/instant.ts'
import { getBranches, getItemSchemas, getOpenSchemas, resolveSchema } from './subschemas.ts'
import { isDateTime } from './validation.ts'

// Every date-time is normalized to UTC with milliseconds before it is compared or stored.
// The order of such strings is the order of the instants, in every storage and at every depth.

/** The places of date-times in the values of a schema. Places without one, at or below them, are left out. */
export interface DateTimes {
  /** Whether a string here is a date-time. */
  isDateTime: boolean
  readonly named: Map<string, DateTimes>
  others: DateTimes | undefined
  items: DateTimes | undefined
}

/** Finds the date-times of a schema; undefined if it has none. The id is left out: it is an opaque name. */
export function findDateTimes (schema: JsonSchema, id: string): DateTimes | undefined {
  const { [id]: excluded, ...properties } = schema.properties ?? {}
  const finder = new DateTimeFinder(schema)
  const found = finder.find([{ ...schema, properties }])
  return finder.prune(found)
}

class DateTimeFinder {
  readonly #root: JsonSchema
  /** By the schemas of a value. Without it, a recursive schema would never end. */
  readonly #known = new Map<string, DateTimes>()
  readonly #numbers = new Map<JsonSchema, number>()
  readonly #choices = new Set<JsonSchema>()

  constructor (root: JsonSchema) {
    this.#root = root
  }

  /** Combines what several schemas state about one value, be it a union or an intersection. */
  find (given: readonly JsonSchema[]): DateTimes {
    const schemas = this.#expand(given)
    const key = schemas.map((schema) => this.#getNumber(schema)).sort((a, b) => a - b).join()
    const known = this.#known.get(key)
    if (known !== undefined) return known

    const found: DateTimes = {
      isDateTime: isAlwaysDateTime(schemas),
      named: new Map(),
      others: undefined,
      items: undefined
    }
    this.#known.set(key, found)
    for (const name of new Set(schemas.flatMap(({ properties = {} }) => Object.keys(properties)))) {
      found.named.set(name, this.find(schemas.flatMap((schema) => this.#getPropertySchemas(schema, name))))
    }
    found.others = this.#findIfAny(schemas.flatMap(getOpenSchemas))
    found.items = this.#findIfAny(schemas.flatMap(getItemSchemas))
    return found
  }

  /** Removes the places that have no date-time at or below them. */
  prune (root: DateTimes): DateTimes | undefined {
    const kept = new Set([...this.#known.values()].filter(({ isDateTime }) => isDateTime))
    for (let size = -1; size < kept.size;) {
      size = kept.size
      for (const node of this.#known.values()) {
        if (getChildren(node).some((child) => kept.has(child))) kept.add(node)
      }
    }
    for (const node of kept) {
      for (const [name, child] of node.named) {
        if (!kept.has(child)) node.named.delete(name)
      }
      if (node.others !== undefined && !kept.has(node.others)) node.others = undefined
      if (node.items !== undefined && !kept.has(node.items)) node.items = undefined
    }
    return kept.has(root) ? root : undefined
  }

  #findIfAny (schemas: readonly JsonSchema[]): DateTimes | undefined {
    return schemas.length === 0 ? undefined : this.find(schemas)
  }

  /** A branch of a union that does not name the property may still allow it, with another meaning. */
  #getPropertySchemas (schema: JsonSchema, name: string): readonly JsonSchema[] {
    const { properties, additionalProperties } = schema
    if (properties !== undefined && Object.hasOwn(properties, name)) return [properties[name]!]
    const isOpen = additionalProperties === true || isOpenObject(schema)
    return this.#choices.has(schema) && isOpen ? [anySchema] : getOpenSchemas(schema)
  }

  /** Adds the schemas that the given ones refer to and consist of. */
  #expand (given: readonly JsonSchema[]): readonly JsonSchema[] {
    const all = new Set(given)
    for (const schema of all) {
      const choices = getBranches(schema, ['anyOf', 'oneOf']).flatMap((choice) => resolveSchema(choice, this.#root))
      for (const choice of choices) this.#choices.add(choice)
      for (const other of [...resolveSchema(schema, this.#root), ...getBranches(schema)]) all.add(other)
    }
    return [...all]
  }

  #getNumber (schema: JsonSchema): number {
    const number = this.#numbers.get(schema) ?? this.#numbers.size
    this.#numbers.set(schema, number)
    return number
  }
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

function getChildren ({ named, others, items }: DateTimes): DateTimes[] {
  return [...named.values(), others, items].filter((child) => child !== undefined)
}

/** Whether every string that the schemas allow is a date-time. */
function isAlwaysDateTime (schemas: readonly JsonSchema[]): boolean {
  const strings = schemas.filter(canBeString)
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
  if (condition.is === 'like' || condition.is === 'null') return condition
  let place: DateTimes | undefined = dates
  for (const name of condition.property.split('.')) place = place?.named.get(name) ?? place?.others
  if (condition.is === 'contains' || condition.is === 'overlaps') place = place?.items
  return place?.isDateTime === true ? normalizeOperand(condition) : condition
}

/** Normalizes the operand of a condition on a date-time. */
export function normalizeOperand (condition: Condition): Condition {
  if (condition.is === 'like' || condition.is === 'null') return condition
  const { value } = condition
  // Lists stay lists and scalars stay scalars, as the operator requires.
  const normalized = Array.isArray(value) ? value.map(normalizeScalar) : normalizeScalar(value as Scalar)
  return { ...condition, value: normalized } as Condition
}

function normalizeScalar (value: Scalar): Scalar {
  return typeof value === 'string' ? normalizeDate(value) : value
}
