import type { Collection } from '../../collection.ts'
import { toPointer } from '../../http/json-pointer.ts'
import { isObject } from '../../http/json-value.ts'

/**
 * Completes the content of a PUT with the properties of the stored item. A null that the schema does not allow removes
 * the property: it is what an empty input sends.
 */
export function completeItem (content: unknown, before: object, { properties, validate }: Collection): unknown {
  if (!isObject(content)) return content
  const item: Record<string, unknown> = { ...before, ...content }
  const nulls = Object.keys(content).filter((name) => content[name] === null && properties.named.has(name))
  if (nulls.length === 0) return item
  const failures = validate.draft(item) ?? []
  for (const name of nulls) {
    if (failures.some((failure) => failure.pointer === toPointer([name]))) delete item[name]
  }
  return item
}
