import { isObject } from '../http/json-value.ts'
import type { JsonObject } from '../http/json-value.ts'
import { getProperty } from './annotations.ts'
import { isSecret } from './properties.ts'
import type { Properties } from './properties.ts'

// Secrets can be neither read nor changed. A response must not reveal whether the client sent the current value.

/** Returns the paths of the secrets that a value contains. */
export function findSecrets (value: unknown, properties: Properties | undefined): string[][] {
  if (properties === undefined || !properties.contains.secret) return []
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => {
      return findSecrets(item, properties.items).map((path) => [String(index), ...path])
    })
  }
  if (!isObject(value)) return []
  return Object.keys(value).flatMap((name) => {
    const property = getProperty(properties, name)
    if (property !== undefined && isSecret(property)) return [[name]]
    return findSecrets(value[name], property).map((path) => [name, ...path])
  })
}

/** Returns the value without its secrets. */
export function removeSecrets (value: unknown, properties: Properties | undefined): unknown {
  if (properties === undefined || !properties.contains.secret) return value
  if (Array.isArray(value)) return value.map((item) => removeSecrets(item, properties.items))
  if (!isObject(value)) return value
  const kept: JsonObject = {}
  for (const name of Object.keys(value)) {
    const property = getProperty(properties, name)
    if (property === undefined || !isSecret(property)) kept[name] = removeSecrets(value[name], property)
  }
  return kept
}
