const maxValueLength = 100

/** Writes a value that the app has passed, for a message: as JSON if that is short, otherwise what it is. */
export function formatValue (value: unknown): string {
  if (typeof value === 'function') return value.name === '' ? 'a function' : `the function ${value.name}`
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? typeof value
  if (typeof Reflect.get(value, 'then') === 'function') return 'a promise'
  const json = toJson(value)
  if (json !== undefined && json.length <= maxValueLength) return json
  return Array.isArray(value) ? 'an array' : 'an object'
}

/** Definitions, pools and requests refer to themselves. */
function toJson (value: object): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}
