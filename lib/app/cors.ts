/** What `corsOptions()` returns. */
export interface CorsOptions {
  /** The methods of collections. */
  methods: string[]
  /** The headers of collections that scripts can read. */
  exposedHeaders: string[]
  /** False, so that an OPTIONS request that is not a preflight reaches the collection. */
  strictPreflight: boolean
}

/**
 * Returns the options of @fastify/cors that browsers of other origins need. Its defaults allow only GET, HEAD and POST,
 * and do not expose the headers of collections.
 *
 * @example
 * await app.register(cors, { origin: 'https://app.example.com', ...corsOptions() })
 */
export function corsOptions (): CorsOptions {
  return {
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'QUERY'],
    exposedHeaders: [
      'Accept-Patch',
      'Accept-Post',
      'Accept-Query',
      'Allow',
      'Content-Location',
      'Content-Range',
      'Deprecation',
      'ETag',
      'Idempotent-Replayed',
      'Link',
      'Location',
      'Preference-Applied',
      'Retry-After',
      'Sunset',
      // Those of @fastify/rate-limit.
      'X-RateLimit-Limit',
      'X-RateLimit-Remaining',
      'X-RateLimit-Reset',
      'X-Total-Count'
    ],
    // Otherwise an OPTIONS request that is not a preflight gets 400.
    strictPreflight: false
  }
}
