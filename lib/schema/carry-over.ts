import { toCanonicalJson } from './canonical-json.ts'
import { isObject } from '../http/json-value.ts'
import type { JsonObject } from '../http/json-value.ts'
import { getProperty, omitAnnotated, pickAnnotated } from './annotations.ts'
import type { Properties } from './properties.ts'

/**
 * Prepares a value to replace the current one. readOnly properties keep their current value,
 * and so do writeOnly properties that the client left out, because it cannot have seen them.
 */
export function carryOver (value: unknown, before: unknown, properties: Properties | undefined): unknown {
  if (properties === undefined || !(properties.contains.readOnly || properties.contains.writeOnly)) return value
  if (Array.isArray(value)) {
    const findPrevious = createItemFinder(before, properties.items)
    return value.map((item) => carryOver(item, findPrevious(item), properties.items))
  }
  if (!isObject(value)) return value

  const previous = isObject(before) ? before : {}
  const result: JsonObject = { ...value }
  const names = properties.others === undefined
    ? properties.affected.partly
    : new Set([...Object.keys(value), ...Object.keys(previous)])
  for (const name of names) {
    const property = getProperty(properties, name)
    if (property?.readOnly === true) restore(result, name, previous)
    else if (Object.hasOwn(value, name)) result[name] = carryOver(value[name], previous[name], property)
    else if (property?.writeOnly === true) restore(result, name, previous)
  }
  return result
}

function restore (result: JsonObject, name: string, previous: JsonObject): void {
  if (Object.hasOwn(previous, name)) result[name] = previous[name]
  else delete result[name]
}

/**
 * Returns a function that finds the previous state of an array item. Items have no names, so they are recognized by
 * their content: the only one with the same readOnly properties, or one that is equal in everything a client can see.
 */
function createItemFinder (before: unknown, properties: Properties | undefined): (item: unknown) => unknown {
  if (properties === undefined || !Array.isArray(before)) return () => undefined
  const { writeOnly } = properties.contains
  const getReadOnlyKey = (item: unknown): string | undefined => {
    return toCanonicalJson(pickAnnotated(item, properties, 'readOnly'))
  }
  const getContentKey = (item: unknown): string | undefined => {
    return toCanonicalJson(omitAnnotated(omitAnnotated(item, properties, 'readOnly'), properties, 'writeOnly'))
  }
  const byReadOnly = groupItems(before, getReadOnlyKey)
  const byContent = groupItems(before, getContentKey)
  return (item) => {
    const key = getReadOnlyKey(item)
    const candidates = key === undefined ? [] : byReadOnly.get(key) ?? []
    // Equal candidates are interchangeable, unless they have writeOnly properties that may differ.
    if (candidates.length === 1 || (candidates.length > 1 && !writeOnly)) return candidates[0]
    return byContent.get(getContentKey(item))?.pop()
  }
}

/** Groups items by key. The first item of each group comes last, so that `pop()` takes it. */
function groupItems<Key> (items: readonly unknown[], getKey: (item: unknown) => Key): Map<Key, unknown[]> {
  const groups = new Map<Key, unknown[]>()
  for (const item of items.toReversed()) {
    const group = groups.get(getKey(item))
    if (group === undefined) groups.set(getKey(item), [item])
    else group.push(item)
  }
  return groups
}
