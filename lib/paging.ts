import type { Collection } from './definition.ts'
import { problem } from './http/problems.ts'
import type { Request } from './request.ts'
import type { Entry, Page, Position, Query, Scalar } from './storage/contract.ts'
import { validatorOf } from './schema/validation.ts'

/** The query parameters that a list takes. */
export const listParameters: ReadonlySet<string> = new Set(['limit', 'cursor'])

type Direction = 'after' | 'before'

export function listQuery (collection: Collection, request: Request): Query {
  const { limit, cursor } = request.query
  const position = cursor === undefined ? undefined : readCursor(collection, cursor)
  return {
    filter: undefined,
    search: undefined,
    order: collection.order,
    after: position?.after,
    before: position?.before,
    limit: limit === undefined ? collection.page.default : readLimit(collection, limit),
    members: undefined,
    count: false
  }
}

function readLimit (collection: Collection, given: unknown): number {
  const limit = typeof given === 'string' && /^\d{1,9}$/.test(given) ? Number(given) : 0
  if (limit >= 1 && limit <= collection.page.maximum) return limit
  throw problem('bad-query', { detail: `limit has to be a whole number from 1 to ${collection.page.maximum}.`, members: { parameter: 'limit' } })
}

/** The links to other pages, by relation (RFC 8288); each keeps every other parameter. */
export function pageLinks (collection: Collection, request: Request, page: Page<object>): Record<string, { href: string }> {
  const { query: { cursor }, path, search } = request
  const links: Record<string, { href: string }> = {}
  if (cursor === undefined && !page.more) return links
  const rest = cursor === undefined ? search : search.split('&').filter(parameter => nameOf(parameter) !== 'cursor').join('&')
  const to = (value: string): { href: string } => ({ href: `${path}?${rest === '' ? '' : `${rest}&`}cursor=${value}` })
  const backward = cursor !== undefined && readCursor(collection, cursor).before !== undefined
  const [first, last] = [page.entries[0], page.entries.at(-1)]
  if (last !== undefined && (page.more || backward)) links.next = to(writeCursor(collection, 'after', last))
  if (first !== undefined && (backward ? page.more : cursor !== undefined)) links.prev = to(writeCursor(collection, 'before', first))
  links.first = { href: rest === '' ? path : `${path}?${rest}` }
  return links
}

/** A parameter may be written in more than one way, as `%63ursor`. */
function nameOf (parameter: string): string {
  return new URLSearchParams(parameter).keys().next().value ?? ''
}

function writeCursor (collection: Collection, direction: Direction, { item }: Entry<object>): string {
  const position = collection.order.map(({ member }) => (item as Record<string, Scalar | undefined>)[member] ?? null)
  const content = JSON.stringify([direction, ...position])
  return Buffer.from(seal(collection, content) + content).toString('base64url')
}

/** Binds a cursor to its collection and order, so that one from elsewhere, or one that was changed, is told. It keeps no secret. */
function seal ({ name, order }: Collection, content: string): string {
  let hash = 0x811c9dc5
  for (const text of [name, ...order.map(({ member, descending }) => member + descending), content]) {
    for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  return (hash >>> 0).toString(36).padStart(sealLength, '0')
}

const sealLength = 7

function readCursor (collection: Collection, given: unknown): { after?: Position, before?: Position } {
  const text = typeof given === 'string' ? Buffer.from(given, 'base64url').toString() : ''
  const content = text.slice(sealLength)
  if (text.slice(0, sealLength) !== seal(collection, content)) throw foreign()
  const [direction, ...position] = read(content)
  const fits = position.length === collection.order.length && collection.order.every(({ member }, index) => {
    const value = position[index]
    return value === null || (storable(value) && validatorOf(collection.schema.properties![member]!)(value) === undefined)
  })
  if (!fits || (direction !== 'after' && direction !== 'before')) throw foreign()
  return { [direction]: position }
}

/** As the reader of content has it. */
function storable (value: unknown): boolean {
  return typeof value !== 'string' || (value.isWellFormed() && !value.includes('\0'))
}

/** Anybody can make a seal: what it seals is held to be a cursor no sooner than it proves to be one. */
function read (content: string): [unknown, ...Position] {
  try {
    const value: unknown = JSON.parse(content)
    return Array.isArray(value) ? value as [unknown, ...Position] : [undefined]
  } catch {
    return [undefined]
  }
}

function foreign () {
  return problem('bad-query', { detail: 'cursor is none that this list has given. Follow the links of the list, or leave it out to begin anew.', members: { parameter: 'cursor' } })
}
