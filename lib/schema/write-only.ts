import { isObject } from '../http/json-value.ts'
import type { JsonObject } from '../http/json-value.ts'
import { getProperty } from './annotations.ts'
import type { Properties } from './properties.ts'

// A patch must not read writeOnly properties. They are taken out before it is applied, and put back afterwards.

/** The hidden properties travel with their object, even if the patch copies or moves it. */
const hidden = Symbol('hidden')

interface ObjectWithHidden extends JsonObject {
  [hidden]?: JsonObject
}

/** Returns the value without its writeOnly properties. `restoreWriteOnly` puts them back. */
export function hideWriteOnly (value: unknown, properties: Properties | undefined): unknown {
  if (properties === undefined || !properties.contains.writeOnly) return value
  if (Array.isArray(value)) return value.map((item) => hideWriteOnly(item, properties.items))
  if (!isObject(value)) return value
  const result: ObjectWithHidden = {}
  const removed: JsonObject = {}
  for (const name of Object.keys(value)) {
    const property = getProperty(properties, name)
    if (property?.writeOnly === true) removed[name] = value[name]
    else result[name] = hideWriteOnly(value[name], property)
  }
  result[hidden] = removed
  return result
}

/**
 * Puts hidden properties back. A value that the client wrote in their place wins. If an object was moved to a place
 * where they are not writeOnly, they are dropped, because they would become readable there.
 */
export function restoreWriteOnly (value: unknown, properties: Properties | undefined): unknown {
  if (Array.isArray(value)) return value.map((item) => restoreWriteOnly(item, properties?.items))
  if (!isObject(value)) return value
  const find = (name: string): Properties | undefined => properties && getProperty(properties, name)
  const result: JsonObject = {}
  for (const name of Object.keys(value)) result[name] = restoreWriteOnly(value[name], find(name))
  const { [hidden]: removed = {} }: ObjectWithHidden = value
  for (const name of Object.keys(removed)) {
    if (find(name)?.writeOnly === true && !Object.hasOwn(value, name)) result[name] = removed[name]
  }
  return result
}
