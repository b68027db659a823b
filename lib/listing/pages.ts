import type { Collection } from '../collection.ts'
import type { Links } from '../formats/format.ts'
import type { Request } from '../request/request.ts'
import type { Page, Query } from '../storage/contract.ts'
import { writeCursor } from './cursor.ts'
import type { Bound } from './cursor.ts'
import type { Question } from './question.ts'

/** The links to other pages, by relation (RFC 8288); each keeps every other parameter. */
export function pageLinks (collection: Collection, { path, search }: Request, { page, query, question: { cursor, offset, search: text } }: { page: Page<object>, query: Query, question: Question }): Record<string, Links[string]> {
  const links: Record<string, Links[string]> = {}
  // Who counts the items goes on by counting.
  if (offset !== undefined || (cursor === undefined && !page.more)) return links
  const rest = cursor === undefined ? search : search.split('&').filter(parameter => nameOf(parameter) !== 'cursor').join('&')
  const to = (value: string): Links[string] => ({ href: rest === '' ? `${path}?cursor=${value}` : `${path}?${rest}&cursor=${value}` })
  const bound: Bound = { filter: query.filter, search: text, order: query.order }
  const backward = query.before !== undefined
  const first = page.entries[0]
  const last = page.entries.at(-1)
  if (last !== undefined && (page.more || backward)) links.next = to(writeCursor(collection, bound, ['after', last]))
  if (first !== undefined && (backward ? page.more : cursor !== undefined)) links.prev = to(writeCursor(collection, bound, ['before', first]))
  links.first = { href: rest === '' ? path : `${path}?${rest}` }
  return links
}

/** A parameter may be written in more than one way, as `%63ursor`. */
function nameOf (parameter: string): string {
  return new URLSearchParams(parameter).keys().next().value ?? ''
}
