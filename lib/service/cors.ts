// What browsers of another origin need of @fastify/cors, which allows GET, HEAD and POST and shows scripts no field of ours unless it is told.

interface CorsOptions {
  methods: string[]
  exposedHeaders: string[]
  strictPreflight: boolean
}

/** `app.register(cors, { origin, ...corsOptions() })`. */
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
