import type { JsonSchema } from '../../storage/contract.ts'
import { getKind } from './kind.ts'
import { getSafeHref, markup } from './markup.ts'
import type { Markup } from './markup.ts'
import { RelatedContent, renderRelatedLinks, renderRelatedShort } from './related.ts'

/** Returns the URI of the item that a value refers to. `path` is that of its collection. */
export function findTarget (value: unknown, path: string | undefined): string | undefined {
  if (path === undefined || (typeof value !== 'string' && typeof value !== 'number')) return undefined
  // RFC 3986, section 5.2.4: clients remove such segments from a path, so no item has such an id.
  if (/^\.{0,2}$/.test(String(value))) return undefined
  return `${path}/${encodeURIComponent(String(value).toWellFormed())}`
}

/** Renders a value for a cell of a table. */
export function renderShort (value: unknown, schema: JsonSchema, target: string | undefined): Markup {
  if (value instanceof RelatedContent) return renderRelatedShort(value)
  if (isContainer(value)) return markup`<code>${truncate(JSON.stringify(value), 80)}</code>`
  return renderScalar(value, schema, { target, maxLength: 120, withSeconds: false })
}

/** More would make a page too long to read; a form has the whole value. */
const maxFullLength = 20_000

/** Renders a value for the page of its item. */
export function renderFull (value: unknown, schema: JsonSchema, target: string | undefined): Markup {
  if (isContainer(value)) {
    const links = value instanceof RelatedContent && renderRelatedLinks(value)
    return markup`${links}<pre tabindex="0">${truncate(JSON.stringify(value, null, 2), maxFullLength)}</pre>`
  }
  return renderScalar(value, schema, { target, maxLength: maxFullLength, withSeconds: true })
}

function isContainer (value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

interface ScalarOptions {
  /** The URI of the item that the value refers to. */
  readonly target: string | undefined
  readonly maxLength: number
  /** Whether a time is shown to the second. */
  readonly withSeconds: boolean
}

function renderScalar (value: unknown, schema: JsonSchema, options: ScalarOptions): Markup {
  const { target, maxLength, withSeconds } = options
  if (value === undefined) return markup``
  if (value === null || value === '') return markup`<span class="none">${value === null ? 'null' : 'empty'}</span>`
  const text = truncate(String(value), maxLength)
  if (target !== undefined) return markup`<a href="${target}"><bdi>${text}</bdi></a>`
  if (typeof value !== 'string') return markup`${text}`
  const { format } = getKind(schema).schema
  const instant = formatInstant(value, format, withSeconds)
  if (instant !== undefined) {
    return markup`<time datetime="${instant.machine}" title="${value}">${instant.text}</time>`
  }
  const href = getHref(value, format)
  // <bdi> keeps right-to-left text from changing the direction of the text around it.
  if (href === undefined) return markup`<bdi>${text}</bdi>`
  return markup`<a href="${href}" rel="noopener noreferrer nofollow"><bdi>${text}</bdi></a>`
}

function getHref (value: string, format: string | undefined): string | undefined {
  if (format === 'uri') return getSafeHref(value)
  return format === 'email' ? `mailto:${encodeURI(value.toWellFormed())}` : undefined
}

/** Does not cut a surrogate pair in half. */
function truncate (text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, '')}…`
}

// Dates as a person reads them: in UTC and without Intl, so that the text does not depend on where it is rendered.

interface ReadableInstant {
  readonly text: string
  /** The form that `<time>` requires. RFC 3339 allows more, such as lower case. */
  readonly machine: string
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** Formats a date or a date-time; undefined if the text is neither. */
function formatInstant (
  value: string,
  format: string | undefined,
  withSeconds: boolean
): ReadableInstant | undefined {
  if (format !== 'date-time' && format !== 'date') return undefined
  const date = new Date(value)
  // Such as the leap second 23:59:60.
  if (Number.isNaN(date.getTime())) return undefined
  const machine = date.toISOString()
  // Two digits, so that the dates of a column are aligned.
  const day = `${machine.slice(8, 10)} ${months[date.getUTCMonth()]!} ${machine.slice(0, 4)}`
  // A Date turns February 30 into March 2.
  if (format === 'date') return machine.startsWith(value) ? { text: day, machine: value } : undefined
  return { text: `${day}, ${machine.slice(11, withSeconds ? 19 : 16)} UTC`, machine }
}
