import { createHash } from 'node:crypto'
import type { Lists } from './lists.ts'
import { isObject } from '../http/json-value.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import type {
  Context,
  Entry,
  Id,
  JsonSchema,
  Order,
  Page,
  Position,
  Query,
  Scalar,
  Storage
} from '../storage/contract.ts'
import { isComparable } from './conditions.ts'
import { toFilterText } from './list-query.ts'
import type { ListFilter, ListOrder, ListQuery } from './list-query.ts'

// A cursor contains everything that is needed to continue a list, so that any process can read it.

/** The list that a cursor belongs to. */
export interface CursorBinding {
  readonly filter: ListFilter | undefined
  readonly search: string | undefined
  readonly order: readonly ListOrder[]
}

type Direction = 'after' | 'before'

/** The item at the end of a page, and the direction in which the list continues. */
interface CursorTarget {
  readonly direction: Direction
  readonly entry: Entry<object>
}

/**
 * In characters. `Link` has up to two cursors, and clients and proxies refuse headers of more than 8 to 16 kB.
 * A long text in a sorted property would make the cursor as long as the text.
 */
export const maxCursorLength = 1024

/** Creates a cursor that continues a list after or before an item. */
export function createCursor (
  lists: Lists,
  binding: CursorBinding,
  { direction, entry }: CursorTarget
): string {
  const { id } = entry
  const position = getPosition(entry, binding.order)
  const cursor = encodeCursor(lists, binding, [direction, ...position])
  if (cursor.length <= maxCursorLength) return cursor
  return encodeCursor(lists, binding, [direction, { id, hash: hashPosition(position) }])
}

/** A page of a list, and its query. */
export interface ListedPage {
  readonly page: Page<object>
  readonly query: Query
  readonly listQuery: ListQuery
}

/** Returns the cursor of the next page; undefined for the last one. */
export function findNextCursor (lists: Lists, { page, query, listQuery }: ListedPage): string | undefined {
  const { filter, search, order = lists.order } = listQuery
  const entry = page.entries.at(-1)
  const hasNext = page.more || query.before !== undefined
  return entry && hasNext ? createCursor(lists, { filter, search, order }, { direction: 'after', entry }) : undefined
}

function encodeCursor (lists: Lists, binding: CursorBinding, parts: readonly unknown[]): string {
  const content = JSON.stringify(parts)
  return Buffer.from(computeChecksum(lists, binding, content) + content).toString('base64url')
}

function hashPosition (position: Position): string {
  return createHash('sha256').update(JSON.stringify(position)).digest('base64url').slice(0, 22)
}

/** Returns the values by which an entry is ordered. */
export function getPosition ({ item, position }: Entry<object>, order: readonly Order[]): Position {
  return position ?? order.map(({ property }) => getValue(item, property) ?? null)
}

function getValue (item: object, property: string): Scalar | null | undefined {
  if (!property.includes('.')) return (item as Record<string, Scalar | null>)[property]
  let value: unknown = item
  for (const name of property.split('.')) {
    value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
  }
  return value as Scalar | null | undefined
}

const checksumLength = 7

/** Detects cursors that were changed or belong to another list. It is no protection against forgery. */
function computeChecksum (
  { name }: Lists,
  { filter, search = '', order }: CursorBinding,
  content: string
): string {
  let hash = addToHash(0x811c9dc5, name)
  for (const { property, descending } of order) {
    hash = addToHash(addToHash(hash, property), descending ? '-' : '+')
  }
  if (filter !== undefined) hash = addToHash(hash, toFilterText(filter))
  return (addToHash(addToHash(hash, search), content) >>> 0).toString(36).padStart(checksumLength, '0')
}

/** FNV-1a. */
function addToHash (hash: number, text: string): number {
  let result = hash
  for (let index = 0; index < text.length; index++) {
    result = Math.imul(result ^ text.charCodeAt(index), 0x01000193)
  }
  return result
}

/** A position or, if it was too long for a cursor, the item that had it. */
type Place = { readonly position: Position } | { readonly id: Id, readonly hash: string }

interface CursorContext {
  readonly binding: CursorBinding
  /** The query of the first page. */
  readonly query: Query
  readonly storage: Storage<object>
  readonly context: Context
}

/**
 * Returns where the page of a cursor begins. If the cursor refers to an item, the item must still exist with the same
 * sorted values.
 */
export async function resolveCursor (
  lists: Lists,
  cursor: string,
  { binding, query, storage, context }: CursorContext
): Promise<{ after?: Position, before?: Position } | Problem> {
  const parsed = parseCursor(lists, cursor, binding)
  if (parsed === undefined) return toUnknownCursorProblem()
  const { direction, place } = parsed
  if ('position' in place) return { [direction]: place.position }
  const entry = query.order.some(({ related }) => related !== undefined)
    ? await findPlaced(lists, place.id, { query, storage, context })
    : await storage.find(place.id, context)
  const position = entry && getPosition(entry, binding.order)
  if (position === undefined || hashPosition(position) !== place.hash) return toExpiredCursorProblem()
  return { [direction]: position }
}

/** Reads an entry with its position, which related rows decide as well. */
async function findPlaced (
  { type: { id: { property } } }: Lists,
  id: Id,
  { query, storage, context }: Pick<CursorContext, 'query' | 'storage' | 'context'>
): Promise<Entry<object> | undefined> {
  const filter = { property, is: 'eq', value: id } as const
  const page = await storage.list({ ...query, filter, search: undefined, limit: 1, count: false }, context)
  return page.entries[0]
}

interface ParsedCursor {
  readonly direction: Direction
  readonly place: Place
}

function parseCursor (lists: Lists, cursor: string, binding: CursorBinding): ParsedCursor | undefined {
  const text = Buffer.from(cursor, 'base64url').toString()
  const content = text.slice(checksumLength)
  if (text.slice(0, checksumLength) !== computeChecksum(lists, binding, content)) return undefined
  const [direction, ...position] = parseParts(content)
  if (direction !== 'after' && direction !== 'before') return undefined
  const [item] = position as unknown[]
  if (isObject(item)) {
    const { id, hash } = item
    if (!isId(lists, id) || typeof hash !== 'string') return undefined
    return { direction, place: { id, hash } }
  }
  if (!isPosition(lists, position, binding.order)) return undefined
  return { direction, place: { position } }
}

function isPosition (lists: Lists, position: Position, order: readonly ListOrder[]): boolean {
  return position.length === order.length && order.every(({ property, schema }, index) => {
    const value = position[index]
    return value === null || isComparable(value, schema ?? getSchema(lists, property))
  })
}

function isId (lists: Lists, value: unknown): value is Id {
  return typeof value !== 'boolean' && isComparable(value, getSchema(lists, lists.type.id.property))
}

/** The default order may have properties that clients cannot query. That the schema has them was checked at boot. */
function getSchema ({ known, type }: Lists, property: string): JsonSchema {
  return known.get(property)?.schema ?? type.schema.properties![property]!
}

/** A client can compute a checksum, so the content still has to be validated. */
function parseParts (content: string): [unknown, ...Position] {
  try {
    const value: unknown = JSON.parse(content)
    return Array.isArray(value) ? value as [unknown, ...Position] : [undefined]
  } catch {
    return [undefined]
  }
}

function toExpiredCursorProblem (): Problem {
  return problem('invalid-query', {
    detail: 'cursor has expired: the item where the page ended was changed or removed. ' +
      'Leave it out to begin again.',
    properties: { parameter: 'cursor' }
  })
}

function toUnknownCursorProblem (): Problem {
  return problem('invalid-query', {
    detail: 'cursor does not belong to this list. ' +
      'Follow the links of the list, or leave it out to begin again.',
    properties: { parameter: 'cursor' }
  })
}
