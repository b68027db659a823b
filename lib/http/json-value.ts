// RFC 8259 §3: values.

export type Members = Record<string, unknown>

export function isObject (value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** RFC 6902 §4.6: the same type and the same value; the order of members does not count. */
export function equal (one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (Array.isArray(one)) {
    return Array.isArray(other) && one.length === other.length && one.every((member, index) => equal(member, other[index]))
  }
  if (!isObject(one) || !isObject(other)) return false
  const names = Object.keys(one)
  return names.length === Object.keys(other).length &&
    names.every(name => Object.hasOwn(other, name) && equal(one[name], other[name]))
}

/** Whether arrays and objects are nested in more than so many levels. */
export function isDeeper (value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some(member => isDeeper(member, levels - 1))
}
