// RFC 9111: every answer says whether it may be cached.

export interface CachePolicy {
  /** For a successful GET or HEAD without credentials. */
  readonly open: string
  /** For a successful GET or HEAD with credentials. */
  readonly credentialed: string
}

/** A policy that the definition states holds for every caller; the default keeps what credentials have opened out of every cache. */
export function cachePolicy (stated: string | undefined): CachePolicy {
  return { open: stated ?? 'no-cache', credentialed: stated ?? 'no-store' }
}

/** A stored answer with one of these must be asked for again; any other failure is not kept at all. */
const lasting = new Set([301, 304, 308, 404, 406, 410])

export function cacheControl (answer: { safe: boolean, status: number, credentials: boolean }, policy: CachePolicy): string {
  if (!answer.safe) return 'no-store'
  const { status, credentials } = answer
  if (status === 200 || status === 304) return credentials ? policy.credentialed : policy.open
  return lasting.has(status) && !credentials ? 'no-cache' : 'no-store'
}
