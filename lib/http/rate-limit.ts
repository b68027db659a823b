// draft-ietf-httpapi-ratelimit-headers: RateLimit and RateLimit-Policy, structured fields (RFC 9651 section 3.1).

export interface Quota {
  /** How much in a window. */
  readonly limit: number
  readonly remaining: number
  /** In seconds, when the window ends. */
  readonly reset: number
  /** In seconds, where it is known. */
  readonly window: number | undefined
}

export function rateLimit ({ remaining, reset }: Quota): string {
  return `"default";r=${remaining};t=${reset}`
}

export function rateLimitPolicy ({ limit, window }: Quota): string {
  return window === undefined ? `"default";q=${limit}` : `"default";q=${limit};w=${window}`
}
