import { readErrorText } from '../sql/driver-error.ts'

// The parameters of a prepared statement keep the types that the columns had when it was prepared. After ALTER TABLE,
// or when a table is dropped and created again, PostgreSQL refuses valid values, or compares values of two types.

/** Errors of statements that stay prepared, and that other types of columns can cause. */
const suspects = new WeakSet<object>()

/** Values that a type does not have, and assignments, operators and collations that types do not allow. */
const typeError = /^(?:22...|42804|42846|42883|42725|42P18|42P21|42P22)$/

/** Is called with the error of a statement that stays prepared. Only an attempt without it shows the cause. */
export function suspectTypes (error: unknown): void {
  if (typeof error === 'object' && error !== null && typeError.test(readErrorText(error, 'code'))) suspects.add(error)
}

/** Whether the types of columns have changed since the statement was prepared, or may have. */
export function isOutdated (error: unknown): boolean {
  return isStalePlan(error) || suspects.has(Object(error))
}

/** Whether the types of columns that the statement returns have changed since it was prepared. */
export function isStalePlan (error: unknown): boolean {
  return readErrorText(error, 'code') === '0A000' && readErrorText(error, 'routine') === 'RevalidateCachedQuery'
}
