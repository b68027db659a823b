import type { JsonSchema } from '../../storage/contract.ts'
import { followed, markup } from './escape.ts'
import type { Markup } from './escape.ts'
import { kindOf } from './kind.ts'

/** A path within the collection that a value names an item of. */
type Related = string | undefined

/** In a row of a table, where there is little room. */
export function shortly (value: unknown, schema: JsonSchema, related: Related): Markup {
  if (typeof value === 'object' && value !== null) return markup`<code>${cut(JSON.stringify(value), 80)}</code>`
  return shown(value, schema, { related, most: 120 })
}

/** More of one text than this makes a page that nobody reads; a form has all of it. */
const longest = 20_000

/** On a page of its own. */
export function wholly (value: unknown, schema: JsonSchema, related: Related): Markup {
  if (typeof value === 'object' && value !== null) return markup`<pre tabindex="0">${cut(JSON.stringify(value, null, 2), longest)}</pre>`
  return shown(value, schema, { related, most: longest })
}

function shown (value: unknown, schema: JsonSchema, { related, most }: { related: Related, most: number }): Markup {
  if (value === undefined) return markup``
  if (value === null || value === '') return markup`<span class="none">${value === null ? 'null' : 'empty'}</span>`
  const text = cut(String(value), most)
  if (related !== undefined) return markup`<a href="${related}/${encodeURIComponent(String(value).toWellFormed())}"><bdi>${text}</bdi></a>`
  if (typeof value !== 'string') return markup`${text}`
  const { format } = kindOf(schema).schema
  if (format === 'date-time' || format === 'date') return markup`<time datetime="${value}">${text}</time>`
  const href = format === 'uri' ? followed(value) : format === 'email' ? `mailto:${encodeURI(value.toWellFormed())}` : undefined
  // A text may turn the direction of writing, but not that of what stands around it.
  return href === undefined ? markup`<bdi>${text}</bdi>` : markup`<a href="${href}" rel="noopener noreferrer nofollow"><bdi>${text}</bdi></a>`
}

/** Not between the halves of a character. */
function cut (text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most).replace(/[\uD800-\uDBFF]$/, '')}…`
}
