import { isObject } from '../http/json-value.ts'

/** One text for all that is equal as JSON, whatever the order of its properties. */
export function canonical (value: unknown): string | undefined {
  return JSON.stringify(value, (_name, inner: unknown) => isObject(inner)
    ? Object.fromEntries(Object.keys(inner).sort().map(name => [name, inner[name]]))
    : inner)
}
