import { isObject } from '../http/json-value.ts'
import type { Members as Json } from '../http/json-value.ts'
import { property } from './marks.ts'
import type { Properties } from './properties.ts'

// For what looks at an item on behalf of a client, and gives it back changed: writeOnly properties are taken out and put back afterwards.

/** What was taken out of an object goes with it, also where it is copied to be changed or moves to another place. */
const hidden = Symbol('hidden')

interface Concealed extends Json {
  [hidden]?: Json
}

export function concealed (value: unknown, properties: Properties | undefined): unknown {
  if (properties === undefined || !properties.carries.writeOnly) return value
  if (Array.isArray(value)) return value.map(item => concealed(item, properties.items))
  if (!isObject(value)) return value
  const [seen, taken]: [Concealed, Json] = [{}, {}]
  for (const name of Object.keys(value)) {
    const about = property(properties, name)
    if (about?.writeOnly === true) taken[name] = value[name]
    else seen[name] = concealed(value[name], about)
  }
  seen[hidden] = taken
  return seen
}

/** What the client has put in the place of a hidden property counts; elsewhere than in such a place nothing comes to light. */
export function revealed (value: unknown, properties: Properties | undefined): unknown {
  if (Array.isArray(value)) return value.map(item => revealed(item, properties?.items))
  if (!isObject(value)) return value
  const about = (name: string): Properties | undefined => properties && property(properties, name)
  const whole: Json = {}
  for (const name of Object.keys(value)) whole[name] = revealed(value[name], about(name))
  const { [hidden]: taken = {} }: Concealed = value
  for (const name of Object.keys(taken)) {
    if (about(name)?.writeOnly === true && !Object.hasOwn(value, name)) whole[name] = taken[name]
  }
  return whole
}
