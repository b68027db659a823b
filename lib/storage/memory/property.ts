export type Read = (item: object) => unknown

/** Reads a property by its path; what is absent reads as null. */
export function property (path: string): Read {
  const names = path.split('.')
  if (names.length === 1) return (item) => own(item, path)
  return (item) => names.reduce<unknown>(own, item)
}

/** Own properties only: `constructor` can be the name of a property too. */
function own (value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null
  // The check above is all that can be known of an item here.
  return (value as Record<string, unknown>)[name] ?? null
}
