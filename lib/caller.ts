import type { Request } from './request.ts'

/** Who asks, as text: by the id of the caller or, where the definition knows none, by the credentials; and for whose rows. */
export function callerOf ({ caller, scope, fields: { authorization, cookie } }: Request): string {
  const credentials = authorization === undefined ? { cookie } : { authorization }
  return JSON.stringify([caller ?? credentials, scope?.values])
}
