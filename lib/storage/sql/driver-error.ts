// Errors reach the storage from drivers, and from functions of the app that run in a transaction. Those can throw
// anything: an error with a code of another type, a getter that throws, a revoked proxy. Reading one never throws.

/** Returns a property of an error if it is a string, and an empty string otherwise. */
export function readErrorText (error: unknown, name: string): string {
  const value = readProperty(error, name)
  return typeof value === 'string' ? value : ''
}

/** Returns a property of an error if it is a number. */
export function readErrorNumber (error: unknown, name: string): number | undefined {
  const value = readProperty(error, name)
  return typeof value === 'number' ? value : undefined
}

/**
 * Returns the messages of the errors that an AggregateError without a message of its own combines. Node.js throws one
 * for a host with several addresses, such as localhost, if none can be reached.
 */
export function readAggregatedTexts (error: unknown): string[] {
  const errors = readProperty(error, 'errors')
  if (readErrorText(error, 'message') !== '' || !Array.isArray(errors)) return []
  return errors.map((one) => readErrorText(one, 'message'))
}

/** `instanceof` throws for a revoked proxy. */
export function isInstance<Type> (error: unknown, type: abstract new (...args: never[]) => Type): error is Type {
  try {
    return error instanceof type
  } catch {
    return false
  }
}

function readProperty (error: unknown, name: string): unknown {
  if (!isInstance(error, Error)) return undefined
  try {
    return Reflect.get(error, name)
  } catch {
    return undefined
  }
}
