// Cross-site request forgery: https://fetch.spec.whatwg.org/#http-cors-protocol and
// https://www.w3.org/TR/fetch-metadata/#sec-fetch-site-header
import type { IncomingHttpHeaders } from 'node:http'
import { parseMediaType } from './content-type.ts'

/** What forms send, and what scripts can send to any server without its consent (CORS-safelisted). */
const formTypes: readonly string[] = ['application/x-www-form-urlencoded', 'multipart/form-data', 'text/plain']

/** A script needs the consent of the server to send these headers to another origin. */
const scriptHeaders = ['idempotency-key', 'if-match', 'x-requested-with'] as const

/** Browsers add the credentials of these schemes by themselves. */
const ambientSchemes = /^(?:basic|digest|negotiate|ntlm)(?: |$)/i

/** Whether a POST with one of these media types, or without content if that is accepted, needs no preflight. */
export function acceptsForms (types: readonly string[]): boolean {
  return types.some((type) => formTypes.includes(type))
}

/**
 * Whether the browser would have asked the server first, with a CORS preflight, if the page were of another origin. The
 * server has consented then.
 */
export function needsPreflight (headers: IncomingHttpHeaders): boolean {
  const { 'content-type': type, authorization } = headers
  if (type !== undefined && !formTypes.includes(parseMediaType(type) ?? '')) return true
  if (authorization !== undefined && !ambientSchemes.test(authorization)) return true
  return scriptHeaders.some((header) => headers[header] !== undefined)
}

/**
 * Whether a page of another origin has sent the request. Other subdomains are other origins. Clients that are not
 * browsers send neither header.
 */
export function isCrossOrigin ({ 'sec-fetch-site': site, origin }: IncomingHttpHeaders, host: string): boolean {
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return origin !== undefined && !isSameHost(origin, host)
}

/** Only the host is compared, because TLS may end at a proxy. `null` is the origin of sandboxed pages. */
function isSameHost (origin: string, host: string): boolean {
  const from = URL.parse(origin)
  return from !== null && from.host === URL.parse(`${from.protocol}//${host}`)?.host
}

/** The response headers by which the server consents. */
export interface CorsHeaders {
  readonly allowOrigin: unknown
  readonly allowCredentials: unknown
}

/** Whether the server lets scripts of the origin send such a request, with the credentials that it has. */
export function isAllowedByCors (
  { origin, cookie, authorization }: IncomingHttpHeaders,
  { allowOrigin, allowCredentials }: CorsHeaders
): boolean {
  if (origin === undefined || (allowOrigin !== origin && allowOrigin !== '*')) return false
  const hasCredentials = cookie !== undefined || authorization !== undefined
  return !hasCredentials || (allowOrigin === origin && allowCredentials === 'true')
}

/** Whether the text is an origin, as browsers write it: `https://shop.example`. */
export function isOrigin (text: unknown): boolean {
  return typeof text === 'string' && URL.parse(text)?.origin === text
}
