import { isObject } from '../http/json-value.ts'
import type { JsonObject } from '../http/json-value.ts'
import { getProperty } from './annotations.ts'
import { maxFailures } from './failures.ts'
import type { Properties } from './properties.ts'

// The properties of a value that its schema has, at any depth. `hidden` are names that the caller does not see.

type Hidden = ReadonlySet<string> | undefined

/** Returns the value without the properties that its schema does not have, or that the caller does not see. */
export function omitUnknown (value: unknown, properties: Properties | undefined, hidden?: Hidden): unknown {
  if (properties === undefined || isAnything(properties)) return value
  if (Array.isArray(value)) return value.map((item) => omitUnknown(item, properties.items, hidden))
  if (!isObject(value)) return value
  const kept: JsonObject = {}
  for (const name of Object.keys(value)) {
    const property = getProperty(properties, name)
    if (property === undefined ? properties.isOpen : !isHidden(properties, name, hidden)) {
      kept[name] = omitUnknown(value[name], property, hidden)
    }
  }
  return kept
}

/** Returns the paths of the properties that the caller does not see, at least as many as a problem lists. */
export function findHiddenPaths (value: unknown, properties: Properties | undefined, hidden: Hidden): string[][] {
  if (properties === undefined || hidden === undefined || typeof value !== 'object' || value === null) return []
  const isArray = Array.isArray(value)
  const paths: string[][] = []
  for (const [name, inner] of Object.entries(value)) {
    if (paths.length >= maxFailures) break
    if (!isArray && isHidden(properties, name, hidden)) {
      paths.push([name])
      continue
    }
    const property = isArray ? properties.items : getProperty(properties, name)
    for (const path of findHiddenPaths(inner, property, hidden)) paths.push([name, ...path])
  }
  return paths
}

function isAnything ({ isOpen, named, others, items }: Properties): boolean {
  return isOpen && named.size === 0 && others === undefined && items === undefined
}

/** The names of a map, such as a `Type.Record`, are data. */
function isHidden ({ named }: Properties, name: string, hidden: Hidden): boolean {
  return hidden?.has(name) === true && named.has(name)
}
