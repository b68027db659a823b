import { BadOption } from './errors.ts'
import { deprecation } from './http/deprecation.ts'
import { link as linkField } from './http/link.ts'
import { sunset as sunsetField } from './http/sunset.ts'

export interface DeprecationOptions {
  /** When the collection became, or becomes, deprecated. */
  since: Date | string
  /** When it will likely cease to answer. */
  sunset?: Date | string
  /** A page that says what to do. */
  link?: string
}

/** The fields of every answer of a collection that is deprecated. */
export interface DeprecationFields {
  readonly deprecation: string
  readonly sunset?: string
  readonly link?: string
}

export function deprecationOf (name: string, options: DeprecationOptions | undefined): DeprecationFields | undefined {
  if (options === undefined) return undefined
  const since = dateOf(name, 'since', options.since)
  const end = options.sunset === undefined ? undefined : dateOf(name, 'sunset', options.sunset)
  // RFC 9745 section 4.
  if (end !== undefined && end < since) throw new BadOption(name, `deprecated.sunset is ${end.toISOString()}, before deprecated.since, which is ${since.toISOString()}. A collection is deprecated first, and ends later.`)
  const { link: href } = options
  if (href !== undefined && !URL.canParse(href, 'https://localhost')) throw new BadOption(name, `deprecated.link is ${JSON.stringify(href)}. Make it a URI, such as "https://example.com/migrate" or "/docs/v2".`)
  return {
    deprecation: deprecation(since),
    ...end && { sunset: sunsetField(end) },
    ...href !== undefined && { link: linkField([{ href, rel: 'deprecation' }, ...end ? [{ href, rel: 'sunset' }] : []]) }
  }
}

/** A date, or a date and time of a known zone: any other text is another moment elsewhere. */
const certain = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/

function dateOf (name: string, part: string, value: unknown): Date {
  const date = value instanceof Date || (typeof value === 'string' && certain.test(value)) ? new Date(value) : undefined
  if (date === undefined || Number.isNaN(date.getTime())) throw new BadOption(name, `deprecated.${part} is ${JSON.stringify(value)}. Make it a Date, or text such as "2026-01-31" or "2026-01-31T12:00:00Z".`)
  return date
}
