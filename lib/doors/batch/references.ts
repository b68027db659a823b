import { parsePointer, toPointer } from '../../http/json-pointer.ts'
import { cloneJson, isObject } from '../../http/json-value.ts'

// References of a part to the results of earlier parts: `o#/id` is the property id of what the part "o" has returned.

/** A value in the result of an earlier part. */
export interface Reference {
  /** As the client wrote it. */
  readonly text: string
  /** The index of the earlier part. */
  readonly from: number
  readonly path: readonly string[]
}

/** A place in the content of a part, and where its value comes from. */
export interface ContentReference {
  readonly target: readonly string[]
  readonly source: Reference
}

export const idPattern = /^[A-Za-z0-9_-]{1,64}$/

/** Parses `o#/id`. `ids` are those of the earlier parts. Returns the mistake as a text. */
export function parseReference (text: string, ids: ReadonlyMap<string, number>): Reference | string {
  const mark = text.indexOf('#')
  const path = mark < 1 ? undefined : parsePointer(text.slice(mark + 1))
  if (path === undefined) return 'must be a reference such as "o#/id": the id of a part, # and a JSON Pointer'
  const id = text.slice(0, mark)
  const from = ids.get(id)
  return from === undefined ? `refers to ${JSON.stringify(id)}, but no earlier part has this id` : { text, from, path }
}

/** The I-JSON parser refuses these names in the content. */
const forbiddenNames: readonly string[] = ['__proto__', 'constructor']

/** Parses the pointer of a target in the content. Returns the mistake as a text. */
export function parseTarget (text: string): readonly string[] | string {
  const target = parsePointer(text)
  if (target === undefined) return 'is not a JSON Pointer into the content, such as "/orderId"'
  const forbidden = target.find((name) => forbiddenNames.includes(name))
  return forbidden === undefined ? target : `has the name ${JSON.stringify(forbidden)}, which no property can have`
}

/** Returns the value that a pointer refers to. The object distinguishes it from a value that does not exist. */
export function findValue (content: unknown, path: readonly string[]): { readonly value: unknown } | undefined {
  let value = content
  for (const name of path) {
    const isIndex = Array.isArray(value) ? indexPattern.test(name) : isObject(value)
    if (!isIndex || !Object.hasOwn(value as object, name)) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value === undefined ? undefined : { value }
}

const indexPattern = /^(?:0|[1-9]\d{0,8})$/

/** A reference of the content and the value that it has led to. */
interface ResolvedReference {
  readonly target: readonly string[]
  readonly value: unknown
}

/**
 * Returns a copy of the content with these values. What contains a target has to exist; `-` is the end of an array, as
 * in RFC 6902. Returns the pointer of the first target without a place as a text.
 */
export function insertValues (
  content: unknown,
  values: readonly ResolvedReference[]
): { readonly value: unknown } | string {
  let copy = cloneJson(content)
  for (const { target, value } of values) {
    const name = target.at(-1)
    if (name === undefined) copy = cloneJson(value)
    else if (!setProperty(findValue(copy, target.slice(0, -1))?.value, name, cloneJson(value))) return toPointer(target)
  }
  return { value: copy }
}

function setProperty (container: unknown, name: string, value: unknown): boolean {
  if (Array.isArray(container)) {
    const index = name === '-' ? container.length : Number(name)
    if ((name !== '-' && !indexPattern.test(name)) || index > container.length) return false
    container[index] = value
    return true
  }
  if (!isObject(container)) return false
  container[name] = value
  return true
}
