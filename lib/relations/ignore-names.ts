import type { ReadContent } from '../engine/operation.ts'
import type { Relation } from '../engine/feature.ts'
import { isObject } from '../http/json-value.ts'
import { Problem } from '../http/problems.ts'

/**
 * Ignores the names of relations in the content of a write, so that a client can send an item back as it was read with
 * `expand`. Relations that the caller does not see are unknown, as all other names are.
 */
export function ignoreRelationNames (next: ReadContent, relations: Iterable<Relation>): ReadContent {
  const all = [...relations]
  return (operation, before) => {
    const content = next(operation, before)
    if (content instanceof Problem) return content
    const { hidden } = operation.view.type
    const names = all.filter(({ property }) => hidden?.has(property) !== true).map(({ name }) => name)
    const { value, base } = content
    const stored = operation.action.takesPatch ? base : undefined
    const omit = (item: unknown): unknown => omitNames(item, names, stored)
    return { ...content, value: Array.isArray(value) ? value.map(omit) : omit(value) }
  }
}

/** If the schema accepts any properties, the stored item can have one of the same name. A patch keeps it. */
function omitNames (item: unknown, names: readonly string[], stored: object = {}): unknown {
  if (!isObject(item) || !names.some((name) => Object.hasOwn(item, name))) return item
  const others = Object.entries(item).filter(([name]) => !names.includes(name))
  const kept = Object.entries(stored).filter(([name]) => names.includes(name))
  return Object.fromEntries([...others, ...kept])
}
