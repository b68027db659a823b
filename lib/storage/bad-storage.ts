/**
 * A storage function was called with something that it cannot use. lib/errors/errors.ts uses the same code for
 * `define`.
 */
export class BadStorageError extends TypeError {
  readonly code = 'FST_COLLECTION_BAD_STORAGE'
}

/** Describes what kind of value this is. Never the value itself: a URL may contain a password. */
export function describeValue (value: unknown): string {
  if (value === undefined || value === null) return String(value)
  if (typeof value === 'function') return value.name === '' ? 'a function' : `the function ${value.name}`
  if (typeof value !== 'object') return `a ${typeof value}`
  if (typeof Reflect.get(value, 'then') === 'function') return 'a promise'
  const { name }: { name?: unknown } = value.constructor ?? {}
  const isPlain = typeof name !== 'string' || name === '' || name === 'Object'
  return isPlain ? 'an object' : `an object of the class ${name}`
}

/** Whether the value is an object with all of these methods. */
export function hasMethods<Name extends string> (
  value: unknown,
  ...names: readonly Name[]
): value is Readonly<Record<Name, Function>> {
  if (typeof value !== 'object' || value === null) return false
  return names.every((name) => typeof Reflect.get(value, name) === 'function')
}
