import type { Guarded } from './access.ts'
import { pointer } from '../http/json-pointer.ts'
import { isObject } from '../http/json-value.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import type { Request } from '../request/request.ts'
import { marked } from '../schema/derived.ts'
import { propertiesOf } from '../schema/properties.ts'
import type { Properties } from '../schema/properties.ts'
import type { JsonSchema } from '../storage/contract.ts'

// To a caller who does not see a property, the collection is one in which nobody can read or write it.

export type Hidden = ReadonlySet<string>

interface Asking {
  readonly incoming: Request['original']
  readonly caller: string | undefined
}

/** The properties that the caller does not see; undefined where it sees them all. Where callers are known, nobody sees none of them. */
export async function hiddenFrom ({ guard }: Guarded, { incoming, caller }: Asking): Promise<Hidden | undefined> {
  if (guard === undefined || guard.visible.size === 0) return undefined
  const stranger = caller === undefined && guard.authentication !== undefined
  const hidden = await Promise.all([...guard.visible].map(async ([property, visible]) => !stranger && await visible(incoming, caller) === true ? [] : [property]))
  const names = hidden.flat()
  return names.length === 0 ? undefined : new Set(names)
}

/** Of each collection, so many: there are as many as there are kinds of callers. */
const most = 64

/** By what it is made of and by what is hidden: made once. */
export class Known<Made> {
  readonly #made = new WeakMap<object, Map<string, Made>>()

  get (from: object, hidden: Hidden, make: () => Made): Made {
    let known = this.#made.get(from)
    if (known === undefined) this.#made.set(from, known = new Map())
    const key = JSON.stringify([...hidden])
    let made = known.get(key)
    if (made === undefined) known.set(key, made = make())
    if (known.size > most) known.delete(known.keys().next().value!)
    return made
  }
}

export function concealing ({ schema }: { readonly schema: JsonSchema }, hidden: Hidden): JsonSchema {
  const marks = (mark: 'readOnly' | 'writeOnly'): Record<string, typeof mark> => Object.fromEntries([...hidden].map(property => [property, mark]))
  return marked(marked({ ...schema, properties: { ...schema.properties } }, marks('readOnly')), marks('writeOnly'))
}

const knownProperties = new Known<Properties>()

/** What the schema says of the properties, to a caller who does not see these. */
export function propertiesSeen (described: { readonly schema: JsonSchema, readonly properties: Properties }, hidden: Hidden | undefined): Properties {
  return hidden === undefined ? described.properties : knownProperties.get(described.properties, hidden, () => propertiesOf(concealing(described, hidden)))
}

/** A caller cannot write a property that it does not see: for that caller it does not exist. */
export function checkHidden (hidden: Hidden, content: unknown): Problem | undefined {
  const paths = Array.isArray(content) ? content.flatMap((item, index) => named(item, hidden).map(name => [String(index), name])) : named(content, hidden).map(name => [name])
  if (paths.length === 0) return undefined
  return problem('validation-failed', { detail: 'The content has unknown properties.', members: { errors: paths.map(path => ({ pointer: pointer(path), message: 'is not a known property' })) } })
}

function named (content: unknown, hidden: Hidden): string[] {
  return isObject(content) ? Object.keys(content).filter(name => hidden.has(name)) : []
}

/** What a patch made of an item, with what the caller does not see as it was, whatever was put in the place of the whole. */
export function withHidden (hidden: Hidden, result: unknown, before: object): unknown {
  if (!isObject(result)) return result
  return { ...result, ...Object.fromEntries([...hidden].filter(name => Object.hasOwn(before, name)).map(name => [name, Reflect.get(before, name)])) }
}
