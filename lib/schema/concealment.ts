import { isObject } from '../http/json-value.ts'
import type { Members as Json } from '../http/json-value.ts'
import { member } from './marks.ts'
import type { Members } from './members.ts'

// For what looks at an item on behalf of a client, and gives it back changed: writeOnly members are taken out and put back afterwards.

/** What was taken out of an object goes with it, also where it is copied to be changed or moves to another place. */
const hidden = Symbol('hidden')

interface Concealed extends Json {
  [hidden]?: Json
}

export function concealed (value: unknown, members: Members | undefined): unknown {
  if (members === undefined || !members.carries.writeOnly) return value
  if (Array.isArray(value)) return value.map(item => concealed(item, members.items))
  if (!isObject(value)) return value
  const [seen, taken]: [Concealed, Json] = [{}, {}]
  for (const name of Object.keys(value)) {
    const about = member(members, name)
    if (about?.writeOnly === true) taken[name] = value[name]
    else seen[name] = concealed(value[name], about)
  }
  seen[hidden] = taken
  return seen
}

/** What the client has put in the place of a hidden member counts; elsewhere than in such a place nothing comes to light. */
export function revealed (value: unknown, members: Members | undefined): unknown {
  if (Array.isArray(value)) return value.map(item => revealed(item, members?.items))
  if (!isObject(value)) return value
  const about = (name: string): Members | undefined => members && member(members, name)
  const whole: Json = {}
  for (const name of Object.keys(value)) whole[name] = revealed(value[name], about(name))
  const { [hidden]: taken = {} }: Concealed = value
  for (const name of Object.keys(taken)) {
    if (about(name)?.writeOnly === true && !Object.hasOwn(value, name)) whole[name] = taken[name]
  }
  return whole
}
