import type { onSendHookHandler } from 'fastify'
import { formatValue } from '../format-value.ts'
import { formatDeprecation } from '../http/deprecation.ts'
import { formatLink } from '../http/link.ts'
import { formatSunset } from '../http/sunset.ts'
import { describeHeaders } from '../openapi/headers.ts'
import type { Feature, Host } from './feature.ts'

/** The options of `deprecation()`. */
export interface DeprecationOptions {
  /** When the collection became, or becomes, deprecated. A date or a date-time with its time zone. */
  since: Date | string
  /**
   * When the collection is likely to stop responding.
   *
   * @default the header `Sunset` is not sent
   * @example
   * deprecation({ since: '2026-01-31', sunset: '2027-01-31' })
   */
  sunset?: Date | string
  /**
   * The URI of a page that says what clients should do.
   *
   * @default no link is sent
   * @example
   * deprecation({ since: '2026-01-31', link: '/docs/migrate' })
   */
  link?: string
}

/**
 * Announces in every response that the collection is deprecated, with the headers `Deprecation` (RFC 9745), `Sunset`
 * (RFC 8594) and `Link`, and marks its operations as deprecated in OpenAPI.
 *
 * @example
 * define({ name: 'users', schema: User, storage: memory() })
 *   .with(deprecation({ since: '2026-01-31', sunset: '2027-01-31', link: '/docs/migrate' }))
 */
export function deprecation (options: DeprecationOptions): Feature<object> {
  return {
    name: 'deprecation',
    setup (host) {
      host.checkOptions('deprecation', options, ['since', 'sunset', 'link'])
      const { link, ...headers } = buildHeaders(host, options)
      const addHeaders: onSendHookHandler = (_request, reply, payload, done) => {
        reply.headers(headers)
        if (link !== undefined) reply.header('link', joinLinks(reply.getHeader('link'), link))
        done(null, payload)
      }
      host.register((app) => { app.addHook('onSend', addHeaders) })
      host.describe((operation, _action, { components }) => {
        operation.deprecated = true
        for (const [status, response] of Object.entries(operation.responses)) {
          if (Number(status) >= 400) continue
          response.headers = { ...response.headers, ...describeHeaders(components, ['Deprecation', 'Sunset']) }
        }
      })
    }
  }
}

interface Headers {
  readonly deprecation: string
  readonly sunset?: string
  readonly link?: string
}

function buildHeaders (host: Host, { since, sunset, link }: DeprecationOptions): Headers {
  const start = parseDate(host, 'since', since)
  const end = sunset === undefined ? undefined : parseDate(host, 'sunset', sunset)
  // RFC 9745, section 4.
  if (end !== undefined && end < start) {
    host.fail(`deprecation: sunset is ${end.toISOString()}, which is before since, ${start.toISOString()}. ` +
      'Make sunset the later one.')
  }
  if (link !== undefined && !(typeof link === 'string' && URL.canParse(link, 'https://localhost'))) {
    host.fail(`deprecation: link is ${formatValue(link)}. ` +
      'Make it a URI, such as "https://example.com/migrate" or "/docs/v2".')
  }
  return {
    deprecation: formatDeprecation(start),
    ...end && { sunset: formatSunset(end) },
    ...link !== undefined && { link: formatLinks(link, end !== undefined) }
  }
}

function formatLinks (href: string, hasSunset: boolean): string {
  const links = [{ href, rel: 'deprecation' }]
  if (hasSunset) links.push({ href, rel: 'sunset' })
  return formatLink(links)
}

/** A date, or a date-time with a zone: without one, the moment would depend on the machine. */
const unambiguousDate = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/

function parseDate (host: Host, option: string, value: unknown): Date {
  const isDate = value instanceof Date || (typeof value === 'string' && unambiguousDate.test(value))
  const date = isDate ? new Date(value) : undefined
  if (date === undefined || Number.isNaN(date.getTime())) {
    return host.fail(`deprecation: ${option} is ${formatValue(value)}. ` +
      'Make it a Date, or a string such as "2026-01-31" or "2026-01-31T12:00:00Z".')
  }
  return date
}

/** Adds the link only once: if a later hook fails, the hook runs again for the error response. */
function joinLinks (present: number | string | string[] | undefined, link: string): string {
  const known = [present ?? []].flat().join(', ')
  if (known === '') return link
  return known.includes(link) ? known : `${known}, ${link}`
}
