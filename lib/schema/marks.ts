import { canonical } from './canonical.ts'
import { equal, isObject } from '../http/json-value.ts'
import type { Members as Json } from '../http/json-value.ts'
import type { Mark, Properties } from './properties.ts'

// What the marks of properties do to a value.

export function property (properties: Properties, name: string): Properties | undefined {
  return properties.named.get(name) ?? properties.others
}

/** The value without the properties that bear the mark. */
export function without (value: unknown, properties: Properties | undefined, mark: Mark): unknown {
  if (properties === undefined || !properties.carries[mark]) return value
  if (Array.isArray(value)) return value.map(item => without(item, properties.items, mark))
  if (!isObject(value)) return value
  return properties.others === undefined ? lessened(value, properties, mark) : sifted(value, properties, mark)
}

/** Where the schema knows every property, only those are looked at that the mark is about; mostly it is one. */
function lessened (value: Json, { named, concerned }: Properties, mark: Mark): Json {
  let kept = value
  for (const name of concerned[mark]) {
    if (!Object.hasOwn(value, name)) continue
    const about = named.get(name)!
    if (about[mark]) {
      const { [name]: gone, ...rest } = kept
      kept = rest
    } else {
      kept = { ...kept, [name]: without(value[name], about, mark) }
    }
  }
  return kept
}

function sifted (value: Json, properties: Properties, mark: Mark): Json {
  const kept: Json = {}
  for (const name of Object.keys(value)) {
    const about = property(properties, name)
    if (about?.[mark] !== true) kept[name] = without(value[name], about, mark)
  }
  return kept
}

/** The properties that bear the mark, and nothing else; undefined where there are none. */
export function only (value: unknown, properties: Properties | undefined, mark: Mark): unknown {
  if (properties === undefined || !properties.carries[mark]) return undefined
  if (Array.isArray(value)) {
    const parts = value.map(item => only(item, properties.items, mark))
    return parts.some(part => part !== undefined) ? parts : undefined
  }
  if (!isObject(value)) return undefined
  const found: Json = {}
  for (const name of Object.keys(value)) {
    const about = property(properties, name)
    const part = about?.[mark] === true ? value[name] : only(value[name], about, mark)
    if (part !== undefined) found[name] = part
  }
  return Object.keys(found).length > 0 ? found : undefined
}

/** The value with defaults in the place of absent properties. */
export function filled (value: unknown, properties: Properties | undefined): unknown {
  if (properties === undefined || !properties.carries.default) return value
  if (Array.isArray(value)) return value.map(item => filled(item, properties.items))
  if (!isObject(value)) return value
  const whole: Json = {}
  for (const name of Object.keys(value)) whole[name] = filled(value[name], property(properties, name))
  for (const [name, about] of properties.named) {
    if (about.default !== undefined && !Object.hasOwn(value, name)) whole[name] = filled(structuredClone(about.default), about)
  }
  return whole
}

/** Where marked properties differ, as paths of names. */
export function differences (before: unknown, after: unknown, properties: Properties | undefined, mark: Mark): string[][] {
  if (properties === undefined || !properties.carries[mark]) return []
  if (Array.isArray(after)) return strangers(before, after, [properties.items, mark])
  const [was, is] = [isObject(before) ? before : {}, isObject(after) ? after : {}]
  const paths: string[][] = []
  for (const name of properties.others === undefined ? properties.concerned[mark] : new Set([...Object.keys(was), ...Object.keys(is)])) {
    // Mostly it is the value that was there.
    if (was[name] === is[name]) continue
    const about = property(properties, name)
    if (about?.[mark] !== true) for (const path of differences(was[name], is[name], about, mark)) paths.push([name, ...path])
    else if (!equal(was[name], is[name])) paths.push([name])
  }
  return paths
}

/** An item of an array may carry what any item carried before, or nothing: items come, go and change places. */
function strangers (before: unknown, after: readonly unknown[], [items, mark]: [Properties | undefined, Mark]): string[][] {
  const was: readonly unknown[] = Array.isArray(before) ? before : []
  const known = new Set(was.map(item => canonical(only(item, items, mark))))
  return after.flatMap((item, index) => {
    const part = only(item, items, mark)
    if (part === undefined || known.has(canonical(part))) return []
    return differences(was[index], item, items, mark).map(path => [String(index), ...path])
  })
}
