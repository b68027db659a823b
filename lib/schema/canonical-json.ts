import { isObject } from '../http/json-value.ts'

/** Returns the same text for equal JSON values, whatever the order of their properties. */
export function toCanonicalJson (value: unknown): string | undefined {
  return JSON.stringify(value, (_name, inner: unknown) => isObject(inner) ? sortProperties(inner) : inner)
}

function sortProperties (object: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.keys(object).sort().map((name) => [name, object[name]]))
}
