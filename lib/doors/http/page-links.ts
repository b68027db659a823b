import type { Lists } from '../../query/lists.ts'
import type { Link } from '../../http/link.ts'
import type { HttpRequest } from './request.ts'
import { createCursor, findNextCursor } from '../../query/cursor.ts'
import type { CursorBinding, ListedPage } from '../../query/cursor.ts'

/** Builds the links to other pages, by relation (RFC 8288). Each keeps the other query parameters. */
export function buildPageLinks (
  lists: Lists,
  { path, search }: Pick<HttpRequest, 'path' | 'search'>,
  { page, query, listQuery }: ListedPage
): Record<string, Link> {
  const { cursor, offset, filter, search: text, order = lists.order } = listQuery
  const links: Record<string, Link> = {}
  const isFirst = cursor === undefined && offset === undefined
  if (isFirst && !page.more) return links

  const rest = isFirst ? search : removePlace(search)
  const binding: CursorBinding = { filter, search: text, order }
  const linkTo = (value: string): Link => {
    return { href: rest === '' ? `${path}?cursor=${value}` : `${path}?${rest}&cursor=${value}` }
  }
  const isBackward = query.before !== undefined
  const hasPrevious = isBackward ? page.more : !isFirst
  const first = page.entries[0]
  const next = findNextCursor(lists, { page, query, listQuery })
  if (next !== undefined) links.next = linkTo(next)
  if (first !== undefined && hasPrevious) {
    links.prev = linkTo(createCursor(lists, binding, { direction: 'before', entry: first }))
  }
  links.first = { href: rest === '' ? path : `${path}?${rest}` }
  return links
}

/** A page by offset continues by cursor as well: items that come or go in between then move none to another page. */
function removePlace (search: string): string {
  return search.split('&').filter((parameter) => !['cursor', 'offset'].includes(getName(parameter))).join('&')
}

/** Decodes the name, because it may be written as `%63ursor`. */
function getName (parameter: string): string {
  return new URLSearchParams(parameter).keys().next().value ?? ''
}
