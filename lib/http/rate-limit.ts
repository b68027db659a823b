// draft-ietf-httpapi-ratelimit-headers: RateLimit and RateLimit-Policy, structured fields (RFC 9651, section 3.1).

export interface Quota {
  /** How many requests are allowed in a window. */
  readonly limit: number
  readonly remaining: number
  /** Seconds until the window ends. */
  readonly reset: number
  /** The length of the window in seconds; undefined if it is unknown. */
  readonly window: number | undefined
}

export function formatRateLimit ({ remaining, reset }: Quota): string {
  return `"default";r=${remaining};t=${reset}`
}

export function formatRateLimitPolicy ({ limit, window }: Quota): string {
  return window === undefined ? `"default";q=${limit}` : `"default";q=${limit};w=${window}`
}
