/** What a storage function was given is not what it needs. lib/errors.ts has the same code for a storage that `define` cannot use. */
export class BadStorage extends TypeError {
  readonly code = 'FST_COLLECTION_BAD_STORAGE'
}

/** What a value is, in words. Never the value itself: a URL may contain a password. */
export function describeValue (value: unknown): string {
  if (value === undefined || value === null) return String(value)
  if (typeof value === 'function') return value.name === '' ? 'a function' : `the function ${value.name}`
  if (typeof value !== 'object') return `a ${typeof value}`
  if (typeof Reflect.get(value, 'then') === 'function') return 'a promise'
  const { name }: { name?: unknown } = value.constructor ?? {}
  return typeof name !== 'string' || name === '' || name === 'Object' ? 'an object' : `an object of the class ${name}`
}

/** Whether all of these are functions. */
export function hasMethods<Name extends string> (value: unknown, ...names: readonly Name[]): value is Readonly<Record<Name, Function>> {
  return typeof value === 'object' && value !== null && names.every((name) => typeof Reflect.get(value, name) === 'function')
}
