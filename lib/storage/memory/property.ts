export type PropertyReader = (item: object) => unknown

/** Creates a function that reads a property by its path; a missing property is read as null. */
export function createReader (path: string): PropertyReader {
  const names = path.split('.')
  if (names.length === 1) return (item) => readOwn(item, path)
  return (item) => names.reduce<unknown>(readOwn, item)
}

/** Reads own properties only: `constructor` can be the name of a property, too. */
function readOwn (value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null
  return (value as Record<string, unknown>)[name] ?? null
}
