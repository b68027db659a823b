/** The service cannot start. The message states why, and what to do. */
export class Unusable extends Error {
  override readonly name = 'Unusable'
}

/** Returns the message of the first cause. A connection to a host with several addresses has several. */
export function reason (error: unknown): string {
  if (error instanceof Error && error.cause instanceof Error) return reason(error.cause)
  if (error instanceof AggregateError && error.errors.length > 0) return reason(error.errors[0])
  return error instanceof Error && error.message !== '' ? error.message : String(error)
}
