// RFC 9111: every answer says whether it may be cached.

export interface CachePolicy {
  /** For a successful GET or HEAD without credentials. */
  readonly open: string
  /** For a successful GET or HEAD with credentials. */
  readonly credentialed: string
  /** Whether every answer depends on who asks, however that is known: it is one to credentials then. */
  readonly closed?: boolean
}

/** Whether no shared cache would keep what has this policy (RFC 9111 sections 3.5, 5.2.2). */
export function isPrivate (policy: string): boolean {
  const directives = policy.toLowerCase().split(',').map(directive => directive.trim())
  const open = directives.some(directive => directive === 'public' || directive.startsWith('s-maxage'))
  return !open && directives.some(directive => directive === 'private' || directive === 'no-store')
}

/** A policy that the definition states holds for every caller; the default keeps what credentials have opened out of every cache. */
export function cachePolicy (given: string | undefined): CachePolicy {
  return { open: given ?? 'no-cache', credentialed: given ?? 'no-store' }
}

/** What the definition states, if anything. */
export function stated ({ open, credentialed }: CachePolicy): string | undefined {
  return open === credentialed ? open : undefined
}

/** A stored answer with one of these must be asked for again; any other failure is not kept at all. */
const lasting = new Set([301, 304, 308, 404, 406, 410])

export function cacheControl (answer: { safe: boolean, status: number, credentials: boolean }, policy: CachePolicy): string {
  if (!answer.safe) return 'no-store'
  const { status, credentials } = answer
  if (status === 200 || status === 304) return credentials ? policy.credentialed : policy.open
  return lasting.has(status) && !credentials ? 'no-cache' : 'no-store'
}
