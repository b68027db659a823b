/** What keeps the service from starting, in one sentence for the person who started it. */
export class Unusable extends Error {
  override readonly name = 'Unusable'
}

/** The message of the first cause, also where there are several, as of a connection to a host with several addresses. */
export function reason (error: unknown): string {
  if (error instanceof Error && error.cause instanceof Error) return reason(error.cause)
  if (error instanceof AggregateError && error.errors.length > 0) return reason(error.errors[0])
  return error instanceof Error && error.message !== '' ? error.message : String(error)
}
