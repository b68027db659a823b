import { isObject } from '../http/json-value.ts'
import type { JsonObject } from '../http/json-value.ts'
import { getProperty } from './annotations.ts'
import { maxFailures } from './failures.ts'
import type { Properties } from './properties.ts'

// The properties of a value that its schema has, and that the caller sees, at any depth.

/** Returns the value without the properties that its schema does not have. */
export function omitUnknown (value: unknown, properties: Properties | undefined): unknown {
  if (properties === undefined || isAnything(properties)) return value
  if (Array.isArray(value)) return value.map((item) => omitUnknown(item, properties.items))
  if (!isObject(value)) return value
  const kept: JsonObject = {}
  for (const name of Object.keys(value)) {
    const property = getProperty(properties, name)
    if (property !== undefined || properties.isOpen) kept[name] = omitUnknown(value[name], property)
  }
  return kept
}

function isAnything ({ isOpen, named, others, items }: Properties): boolean {
  return isOpen && named.size === 0 && others === undefined && items === undefined
}

// Whatever the schema says: a copy of a schema, a map and a place for any value can have a hidden property as well.

/** Returns the JSON value without the properties that have one of the names. */
export function omitHidden (value: unknown, hidden: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((item) => omitHidden(item, hidden))
  if (!isObject(value)) return value
  const seen = Object.entries(value).filter(([name]) => !hidden.has(name))
  return Object.fromEntries(seen.map(([name, inner]) => [name, omitHidden(inner, hidden)]))
}

/** Returns the paths of the properties that have one of the names, at least as many as a problem lists. */
export function findHiddenPaths (value: unknown, hidden: ReadonlySet<string>): string[][] {
  if (typeof value !== 'object' || value === null) return []
  const isArray = Array.isArray(value)
  const paths: string[][] = []
  for (const [name, inner] of Object.entries(value)) {
    if (paths.length >= maxFailures) break
    if (!isArray && hidden.has(name)) {
      paths.push([name])
      continue
    }
    for (const path of findHiddenPaths(inner, hidden)) paths.push([name, ...path])
  }
  return paths
}
