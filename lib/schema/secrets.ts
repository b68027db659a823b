import { isObject } from '../http/json-value.ts'
import type { JsonObject } from '../http/json-value.ts'
import { getProperty } from './annotations.ts'
import { maxFailures } from './failures.ts'
import { isSecret } from './properties.ts'
import type { Properties } from './properties.ts'

// Secrets can be neither read nor changed. A response must not reveal whether the client sent the current value.

/** Returns the paths of the secrets that a value contains, at least as many as a problem lists. */
export function findSecrets (value: unknown, properties: Properties | undefined): string[][] {
  if (properties === undefined || !properties.contains.secret) return []
  if (typeof value !== 'object' || value === null) return []
  const isArray = Array.isArray(value)
  const paths: string[][] = []
  for (const [name, inner] of Object.entries(value)) {
    if (paths.length >= maxFailures) break
    const property = isArray ? properties.items : getProperty(properties, name)
    if (!isArray && property !== undefined && isSecret(property)) paths.push([name])
    else for (const path of findSecrets(inner, property)) paths.push([name, ...path])
  }
  return paths
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
