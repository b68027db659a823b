import { canonical } from './canonical.ts'
import { isObject } from '../http/json-value.ts'
import type { Members as Json } from '../http/json-value.ts'
import { property, only, without } from './marks.ts'
import type { Properties } from './properties.ts'

/**
 * The value as it takes the place of what stood before: without what a client cannot write,
 * and with what it cannot write, or has not seen and leaves out, as it was.
 */
export function carriedOver (value: unknown, before: unknown, properties: Properties | undefined): unknown {
  if (properties === undefined || !(properties.carries.readOnly || properties.carries.writeOnly)) return value
  if (Array.isArray(value)) {
    const find = twins(before, properties.items)
    return value.map(item => carriedOver(item, find(item), properties.items))
  }
  if (!isObject(value)) return value
  const was = isObject(before) ? before : {}
  const whole: Json = { ...value }
  for (const name of properties.others === undefined ? properties.concerned.partly : new Set([...Object.keys(value), ...Object.keys(was)])) {
    const about = property(properties, name)
    if (about?.readOnly === true) restore(whole, name, was)
    else if (Object.hasOwn(value, name)) whole[name] = carriedOver(value[name], was[name], about)
    else if (about?.writeOnly === true) restore(whole, name, was)
  }
  return whole
}

function restore (whole: Json, name: string, was: Json): void {
  if (Object.hasOwn(was, name)) whole[name] = was[name]
  else delete whole[name]
}

/**
 * Finds the item of an array that stood for the same before. Nothing names items but what they hold: it alone has these
 * readOnly properties, or it differs in nothing that the client can have seen and changed.
 */
function twins (before: unknown, properties: Properties | undefined): (item: unknown) => unknown {
  if (properties === undefined || !Array.isArray(before)) return () => undefined
  const { writeOnly } = properties.carries
  const named = (item: unknown): string | undefined => canonical(only(item, properties, 'readOnly'))
  const rest = (item: unknown): string | undefined => canonical(without(without(item, properties, 'readOnly'), properties, 'writeOnly'))
  const [byName, byRest] = [grouped(before, named), grouped(before, rest)]
  return item => {
    const name = named(item)
    const alike = name === undefined ? [] : byName.get(name) ?? []
    // Those that are alike can stand for each other, unless there is more to them that cannot be seen.
    return alike.length === 1 || (alike.length > 1 && !writeOnly) ? alike[0] : byRest.get(rest(item))?.pop()
  }
}

/** Each group has its first item last, to be taken from there. */
function grouped<Key> (items: readonly unknown[], key: (item: unknown) => Key): Map<Key, unknown[]> {
  const groups = new Map<Key, unknown[]>()
  for (const item of items.toReversed()) {
    const group = groups.get(key(item))
    if (group === undefined) groups.set(key(item), [item])
    else group.push(item)
  }
  return groups
}
