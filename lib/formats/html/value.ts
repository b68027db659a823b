import type { JsonSchema } from '../../storage/contract.ts'
import { getKind } from './kind.ts'
import { formatInstant } from './instant.ts'
import { getSafeHref, markup } from './markup.ts'
import type { Markup } from './markup.ts'

/** The path of the collection whose item the value refers to. */
type RelatedPath = string | undefined

/** Renders a value for a cell of a table. */
export function renderShort (value: unknown, schema: JsonSchema, related: RelatedPath): Markup {
  if (isContainer(value)) return markup`<code>${truncate(JSON.stringify(value), 80)}</code>`
  return renderScalar(value, schema, { related, maxLength: 120, withSeconds: false })
}

/** More would make a page too long to read; a form has the whole value. */
const maxFullLength = 20_000

/** Renders a value for the page of its item. */
export function renderFull (value: unknown, schema: JsonSchema, related: RelatedPath): Markup {
  if (isContainer(value)) {
    return markup`<pre tabindex="0">${truncate(JSON.stringify(value, null, 2), maxFullLength)}</pre>`
  }
  return renderScalar(value, schema, { related, maxLength: maxFullLength, withSeconds: true })
}

function isContainer (value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

interface ScalarOptions {
  readonly related: RelatedPath
  readonly maxLength: number
  /** Whether a time is shown to the second. */
  readonly withSeconds: boolean
}

function renderScalar (value: unknown, schema: JsonSchema, options: ScalarOptions): Markup {
  const { related, maxLength, withSeconds } = options
  if (value === undefined) return markup``
  if (value === null || value === '') return markup`<span class="none">${value === null ? 'null' : 'empty'}</span>`
  const text = truncate(String(value), maxLength)
  if (related !== undefined) {
    return markup`<a href="${related}/${encodeURIComponent(String(value).toWellFormed())}"><bdi>${text}</bdi></a>`
  }
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
