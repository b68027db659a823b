// RFC 9111: every response states whether it may be cached.

export interface CachePolicy {
  /** For a successful GET or HEAD without credentials. */
  readonly anonymous: string
  /** For a successful GET or HEAD with credentials. */
  readonly withCredentials: string
  /** Whether every response depends on the caller. It is then treated like a response to credentials. */
  readonly dependsOnCaller?: boolean
}

/** Whether no shared cache stores responses with this policy (RFC 9111, sections 3.5 and 5.2.2). */
export function isPrivate (policy: string): boolean {
  const directives = policy.toLowerCase().split(',').map((directive) => directive.trim())
  const isShared = directives.some((directive) => directive === 'public' || directive.startsWith('s-maxage'))
  return !isShared && directives.some((directive) => directive === 'private' || directive === 'no-store')
}

/** A policy of the definition applies to every caller. By default, responses to credentials are never cached. */
export function toCachePolicy (given: string | undefined): CachePolicy {
  return { anonymous: given ?? 'no-cache', withCredentials: given ?? 'no-store' }
}

/** Returns the policy that the definition states; undefined if it is the default. */
export function getStatedPolicy ({ anonymous, withCredentials }: CachePolicy): string | undefined {
  return anonymous === withCredentials ? anonymous : undefined
}

/** The policy of a response that depends on several collections: the strictest of theirs. */
export function mergePolicies (own: CachePolicy, others: readonly CachePolicy[]): CachePolicy {
  return others.reduce((merged, { anonymous, withCredentials }) => ({
    ...merged,
    anonymous: findStricter(merged.anonymous, anonymous),
    withCredentials: findStricter(merged.withCredentials, withCredentials)
  }), own)
}

/** With any other directive, such as must-revalidate, no-cache is at least as strict. */
const knownDirectives: ReadonlySet<string> = new Set(['public', 'private', 'max-age', 's-maxage'])

/** Builds a policy that allows nothing that one of two does not allow (RFC 9111, section 5.2.2). */
function findStricter (first: string, second: string): string {
  if (first === second) return first
  const policies = [parseDirectives(first), parseDirectives(second)]
  if (policies.some((directives) => directives.has('no-store'))) return 'no-store'
  const isPublic = policies.every((directives) => directives.has('public'))
  const scope = policies.some((directives) => directives.has('private')) ? 'private' : isPublic ? 'public' : undefined
  const hasAges = policies.every((directives) => {
    return directives.has('max-age') && [...directives.keys()].every((name) => knownDirectives.has(name))
  })
  const ages = policies.flatMap((directives) => [directives.get('max-age'), directives.get('s-maxage') ?? Infinity])
  const freshness = hasAges ? `max-age=${Math.min(...ages.map(Number))}` : 'no-cache'
  return scope === undefined ? freshness : `${scope}, ${freshness}`
}

/** Returns the values of directives by their names in lower case. */
function parseDirectives (policy: string): Map<string, string> {
  const found = policy.matchAll(/([\w-]+)(?:\s*=\s*(?:"([^"]*)"|([^\s,]*)))?/g)
  return new Map([...found].map(([, name, quoted, token]) => [name!.toLowerCase(), quoted ?? token ?? '']))
}

/** Other responses than 200 that a cache may store, if it revalidates them. */
const revalidatedStatuses = new Set([301, 304, 308, 404, 406, 410])

interface CachedResponse {
  readonly safe: boolean
  readonly status: number
  readonly credentials: boolean
}

/** Builds the value of Cache-Control for a response. */
export function buildCacheControl ({ safe, status, credentials }: CachedResponse, policy: CachePolicy): string {
  if (!safe) return 'no-store'
  if (status === 200 || status === 304) return credentials ? policy.withCredentials : policy.anonymous
  return revalidatedStatuses.has(status) && !credentials ? 'no-cache' : 'no-store'
}
