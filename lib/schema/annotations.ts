import { toCanonicalJson } from './canonical-json.ts'
import { maxFailures } from './failures.ts'
import { isEqual, isObject } from '../http/json-value.ts'
import type { JsonObject } from '../http/json-value.ts'
import type { Annotation, Properties } from './properties.ts'

// Applies the annotations of properties (readOnly, writeOnly, immutable, default) to values.

/** Returns what the schema states about a property. */
export function getProperty (properties: Properties, name: string): Properties | undefined {
  return properties.named.get(name) ?? properties.others
}

/** Returns the value without the properties that have the annotation. */
export function omitAnnotated (value: unknown, properties: Properties | undefined, annotation: Annotation): unknown {
  if (properties === undefined || !properties.contains[annotation]) return value
  if (Array.isArray(value)) return value.map((item) => omitAnnotated(item, properties.items, annotation))
  if (!isObject(value)) return value
  return properties.others === undefined
    ? omitNamed(value, properties, annotation)
    : omitAny(value, properties, annotation)
}

/** If the schema names every property, only the affected ones are visited; usually there is one. */
function omitNamed (value: JsonObject, { named, affected }: Properties, annotation: Annotation): JsonObject {
  let kept = value
  for (const name of affected[annotation]) {
    if (!Object.hasOwn(value, name)) continue
    const property = named.get(name)!
    if (property[annotation]) {
      const { [name]: omitted, ...rest } = kept
      kept = rest
    } else {
      kept = { ...kept, [name]: omitAnnotated(value[name], property, annotation) }
    }
  }
  return kept
}

function omitAny (value: JsonObject, properties: Properties, annotation: Annotation): JsonObject {
  const kept: JsonObject = {}
  for (const name of Object.keys(value)) {
    const property = getProperty(properties, name)
    if (property?.[annotation] !== true) kept[name] = omitAnnotated(value[name], property, annotation)
  }
  return kept
}

/** Returns only the properties that have the annotation; undefined if there are none. */
export function pickAnnotated (value: unknown, properties: Properties | undefined, annotation: Annotation): unknown {
  if (properties === undefined || !properties.contains[annotation]) return undefined
  if (Array.isArray(value)) {
    const parts = value.map((item) => pickAnnotated(item, properties.items, annotation))
    return parts.some((part) => part !== undefined) ? parts : undefined
  }
  if (!isObject(value)) return undefined
  const picked: JsonObject = {}
  for (const name of Object.keys(value)) {
    const property = getProperty(properties, name)
    const part = property?.[annotation] === true ? value[name] : pickAnnotated(value[name], property, annotation)
    if (part !== undefined) picked[name] = part
  }
  return Object.keys(picked).length > 0 ? picked : undefined
}

/** Returns the value with defaults for missing properties. */
export function fillDefaults (value: unknown, properties: Properties | undefined): unknown {
  if (properties === undefined || !properties.contains.default) return value
  if (Array.isArray(value)) return value.map((item) => fillDefaults(item, properties.items))
  if (!isObject(value)) return value
  const result: JsonObject = {}
  for (const name of Object.keys(value)) result[name] = fillDefaults(value[name], getProperty(properties, name))
  for (const [name, property] of properties.named) {
    if (property.default === undefined || Object.hasOwn(value, name)) continue
    result[name] = fillDefaults(structuredClone(property.default), property)
  }
  return result
}

/** Returns the paths of annotated properties whose values differ, at least as many as a problem lists. */
export function findChanges (
  before: unknown,
  after: unknown,
  properties: Properties | undefined,
  annotation: Annotation
): string[][] {
  if (properties === undefined || !properties.contains[annotation]) return []
  if (Array.isArray(after)) return findChangesInArray(before, after, properties.items, annotation)

  const previous = isObject(before) ? before : {}
  const current = isObject(after) ? after : {}
  const names = properties.others === undefined
    ? properties.affected[annotation]
    : new Set([...Object.keys(previous), ...Object.keys(current)])
  const paths: string[][] = []
  for (const name of names) {
    if (paths.length >= maxFailures) break
    // Usually it is the same value.
    if (previous[name] === current[name]) continue
    const property = getProperty(properties, name)
    if (property?.[annotation] === true) {
      if (!isEqual(previous[name], current[name])) paths.push([name])
      continue
    }
    for (const path of findChanges(previous[name], current[name], property, annotation)) paths.push([name, ...path])
  }
  return paths
}

/** Items of an array can be added, removed and moved, so an item may have the values of any previous item, or none. */
function findChangesInArray (
  before: unknown,
  after: readonly unknown[],
  properties: Properties | undefined,
  annotation: Annotation
): string[][] {
  const previous: readonly unknown[] = Array.isArray(before) ? before : []
  const known = new Set(previous.map((item) => toCanonicalJson(pickAnnotated(item, properties, annotation))))
  const paths: string[][] = []
  for (const [index, item] of after.entries()) {
    if (paths.length >= maxFailures) break
    const part = pickAnnotated(item, properties, annotation)
    if (part === undefined || known.has(toCanonicalJson(part))) continue
    for (const path of findChanges(previous[index], item, properties, annotation)) paths.push([String(index), ...path])
  }
  return paths
}
