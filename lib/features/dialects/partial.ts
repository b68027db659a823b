import type { Collection } from '../../collection.ts'
import { pointer } from '../../http/json-pointer.ts'
import { isObject } from '../../http/json-value.ts'

/**
 * The item with the properties of the content in the place of its own. A null where there can be none takes the property away:
 * it is what an input that was emptied sends.
 */
export function complete (content: unknown, before: object, { properties, validate }: Collection): unknown {
  if (!isObject(content)) return content
  const whole: Record<string, unknown> = { ...before, ...content }
  const nulls = Object.keys(content).filter(name => content[name] === null && properties.named.has(name))
  const misfits = nulls.length === 0 ? [] : validate.draft(whole) ?? []
  for (const name of nulls) if (misfits.some(failure => failure.pointer === pointer([name]))) delete whole[name]
  return whole
}
