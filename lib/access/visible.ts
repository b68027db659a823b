import { isObject } from '../http/json-value.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import { listFailures } from '../schema/failures.ts'
import { addAnnotations } from '../schema/rewrite-schema.ts'
import { readProperties } from '../schema/properties.ts'
import type { Properties } from '../schema/properties.ts'
import type { JsonSchema } from '../storage/contract.ts'
import type { Protected } from './authorize.ts'
import type { AccessContext } from './rules.ts'

// For a caller that does not see a property, the collection has no such property.

export type Hidden = ReadonlySet<string>

/**
 * Returns the properties that the caller does not see; undefined if it sees all. With `authenticate`, anonymous callers
 * see none of those in `access.visible`.
 */
export async function findHidden (
  { access }: Protected,
  context: Pick<AccessContext, 'caller' | 'request'>
): Promise<Hidden | undefined> {
  if (access === undefined || access.visible.size === 0) return undefined
  const isAnonymous = context.caller === undefined && access.authenticate !== undefined
  const hidden = await Promise.all([...access.visible].map(async ([property, isVisible]) => {
    return !isAnonymous && await isVisible(context) === true ? [] : [property]
  }))
  const names = hidden.flat()
  return names.length === 0 ? undefined : new Set(names)
}

/** Per collection: there are as many as there are kinds of callers. */
const maximumKinds = 64

/** What is derived from something once for each set of hidden properties. */
export class HiddenCache<Made> {
  readonly #made = new WeakMap<object, Map<string, Made>>()

  get (from: object, hidden: Hidden, make: () => Made): Made {
    let known = this.#made.get(from)
    if (known === undefined) this.#made.set(from, known = new Map())
    const key = JSON.stringify([...hidden])
    let made = known.get(key)
    if (made === undefined) known.set(key, made = make())
    if (known.size > maximumKinds) known.delete(known.keys().next().value!)
    return made
  }
}

/** Returns the schema in which clients can neither read nor write the hidden properties. */
export function hideProperties ({ schema }: { readonly schema: JsonSchema }, hidden: Hidden): JsonSchema {
  const marks = (mark: 'readOnly' | 'writeOnly'): Record<string, typeof mark> => {
    return Object.fromEntries([...hidden].map((property) => [property, mark]))
  }
  const readOnly = addAnnotations({ ...schema, properties: { ...schema.properties } }, marks('readOnly'))
  return addAnnotations(readOnly, marks('writeOnly'))
}

const visibleProperties = new HiddenCache<Properties>()

/** The properties as a caller sees them. */
export function getVisibleProperties (
  described: { readonly schema: JsonSchema, readonly properties: Properties },
  hidden: Hidden | undefined
): Properties {
  if (hidden === undefined) return described.properties
  return visibleProperties.get(described.properties, hidden, () => readProperties(hideProperties(described, hidden)))
}

/** A caller cannot write a property that it does not see: for that caller it does not exist. */
export function checkHidden (hidden: Hidden, content: unknown): Problem | undefined {
  const paths = Array.isArray(content)
    ? content.flatMap((item, index) => findHiddenNames(item, hidden).map((name) => [String(index), name]))
    : findHiddenNames(content, hidden).map((name) => [name])
  if (paths.length === 0) return undefined
  const errors = listFailures(paths, 'is not a known property')
  return problem('validation-failed', { detail: 'The content has unknown properties.', members: { errors } })
}

function findHiddenNames (content: unknown, hidden: Hidden): string[] {
  return isObject(content) ? Object.keys(content).filter((name) => hidden.has(name)) : []
}

/** The result of a patch, with the hidden properties of the stored item, whatever the patch did to the whole. */
export function restoreHidden (hidden: Hidden, result: unknown, before: object): unknown {
  if (!isObject(result)) return result
  const names = [...hidden].filter((name) => Object.hasOwn(before, name))
  return { ...result, ...Object.fromEntries(names.map((name) => [name, Reflect.get(before, name)])) }
}
