interface CorsOptions {
  methods: string[]
  exposedHeaders: string[]
  strictPreflight: boolean
}

/**
 * The options of @fastify/cors that browsers of another origin need: its defaults allow only GET, HEAD and POST, and hide our headers.
 *
 * @example
 * await app.register(cors, { origin: 'https://app.example.com', ...corsOptions() })
 */
export function corsOptions (): CorsOptions {
  return {
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'QUERY'],
    exposedHeaders: [
      'Accept-Patch', 'Accept-Post', 'Accept-Query', 'Allow', 'Content-Location', 'Content-Range', 'Deprecation', 'ETag',
      'Idempotent-Replayed', 'Link', 'Location', 'Preference-Applied', 'RateLimit', 'RateLimit-Policy', 'Retry-After', 'Sunset', 'X-Total-Count'
    ],
    // An OPTIONS that is no preflight would be a 400.
    strictPreflight: false
  }
}
