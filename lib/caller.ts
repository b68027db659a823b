import type { Collection } from './definition.ts'
import type { Request } from './request.ts'
import { canonical } from './schema/canonical.ts'

/** Headers that most services identify callers by. `authentication.fields` adds others. */
const credentialHeaders: readonly string[] = ['authorization', 'cookie', 'x-api-key']

/**
 * Whose idempotency key it is. A named caller is known by its id and by the values that its scope sets: credentials are
 * renewed, and a filter may depend on the time. Any other is known by its credentials and its whole scope.
 */
export function getKeyOwner ({ guard }: Collection, { caller, scope, fields }: Request): string {
  if (caller !== undefined) return canonical({ caller, values: scope?.values })!
  const names = [...credentialHeaders, ...guard?.authentication?.fields?.map(name => name.toLowerCase()) ?? []]
  return canonical({ credentials: Object.fromEntries(names.map(name => [name, fields[name]])), scope })!
}
