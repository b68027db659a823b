import { createHash } from 'node:crypto'
import type { Collection } from '../collection.ts'
import { isObject } from '../http/json-value.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import type { Context, Entry, Filter, Id, JsonSchema, Order, Position, Scalar } from '../storage/contract.ts'
import { fits } from './conditions.ts'

// Where a page begins: opaque, and all that must be known is in it, so that any process can go on.

/** What a cursor belongs to. */
export interface Bound {
  readonly filter: Filter | undefined
  readonly search: string | undefined
  readonly order: readonly Order[]
}

export type Direction = 'after' | 'before'

/**
 * In characters. A cursor is in the `Link` header up to twice, and clients and proxies refuse a header section of more than
 * 8 to 16 kB. With a long text in a sorted property it would be as long as the text.
 */
const longestCursor = 1024

export function writeCursor (collection: Collection, bound: Bound, [direction, { id, item }]: [Direction, Entry<object>]): string {
  const position = positionOf(item, bound.order)
  const cursor = sealed(collection, bound, [direction, ...position])
  return cursor.length <= longestCursor ? cursor : sealed(collection, bound, [direction, { id, hash: hashOf(position) }])
}

function sealed (collection: Collection, bound: Bound, parts: readonly unknown[]): string {
  const content = JSON.stringify(parts)
  return Buffer.from(seal(collection, bound, content) + content).toString('base64url')
}

function hashOf (position: Position): string {
  return createHash('sha256').update(JSON.stringify(position)).digest('base64url').slice(0, 22)
}

/** Where the item stands. */
export function positionOf (item: object, order: readonly Order[]): Position {
  return order.map(({ property }) => valueAt(item, property) ?? null)
}

function valueAt (item: object, property: string): Scalar | null | undefined {
  if (!property.includes('.')) return (item as Record<string, Scalar | null>)[property]
  let value: unknown = item
  for (const name of property.split('.')) value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
  return value as Scalar | null | undefined
}

const sealLength = 7

/** Tells a cursor from elsewhere, or one that was changed. It keeps no secret. */
function seal ({ name }: Collection, { filter, search = '', order }: Bound, content: string): string {
  let hash = mixed(0x811c9dc5, name)
  for (const { property, descending } of order) hash = mixed(mixed(hash, property), descending ? '-' : '+')
  if (filter !== undefined) hash = mixed(hash, JSON.stringify(filter))
  return (mixed(mixed(hash, search), content) >>> 0).toString(36).padStart(sealLength, '0')
}

function mixed (hash: number, text: string): number {
  let mixture = hash
  for (let index = 0; index < text.length; index++) mixture = Math.imul(mixture ^ text.charCodeAt(index), 0x01000193)
  return mixture
}

/** What a cursor says: a position or, where that was too long, the item that was there. */
type Place = { readonly position: Position } | { readonly id: Id, readonly hash: string }

/** Where the page begins that a cursor leads to. An item that the cursor refers to must still be there, with the values that it was sorted by. */
export async function readCursor (collection: Collection, given: string, { bound, context }: { bound: Bound, context: Context }): Promise<{ after?: Position, before?: Position } | Problem> {
  const parsed = parseCursor(collection, given, bound)
  if (parsed === undefined) return foreign()
  const { direction, place } = parsed
  if ('position' in place) return { [direction]: place.position }
  const entry = await collection.storage.find(place.id, context)
  const position = entry && positionOf(entry.item, bound.order)
  if (position === undefined || hashOf(position) !== place.hash) return expired()
  return { [direction]: position }
}

function parseCursor (collection: Collection, given: string, bound: Bound): { direction: Direction, place: Place } | undefined {
  const text = Buffer.from(given, 'base64url').toString()
  const content = text.slice(sealLength)
  if (text.slice(0, sealLength) !== seal(collection, bound, content)) return undefined
  const [direction, ...position] = read(content)
  if (direction !== 'after' && direction !== 'before') return undefined
  const [item] = position as unknown[]
  if (isObject(item)) {
    const { id, hash } = item
    if (!isId(collection, id) || typeof hash !== 'string') return undefined
    return { direction, place: { id, hash } }
  }
  const known = position.length === bound.order.length && bound.order.every(({ property }, index) => {
    const value = position[index]
    return value === null || fits(value, schemaOf(collection, property))
  })
  if (!known) return undefined
  return { direction, place: { position } }
}

function isId (collection: Collection, value: unknown): value is Id {
  return typeof value !== 'boolean' && fits(value, schemaOf(collection, collection.id.property))
}

/** The order that the definition states may have properties by which no client can ask; that the schema has them was checked at boot. */
function schemaOf ({ listing, schema }: Collection, property: string): JsonSchema {
  return listing.known.get(property)?.schema ?? schema.properties![property]!
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

function expired (): Problem {
  return problem('invalid-query', { detail: 'cursor has expired: the item where the page ended was changed or removed. Leave it out to begin again.', members: { parameter: 'cursor' } })
}

function foreign (): Problem {
  return problem('invalid-query', { detail: 'cursor does not belong to this list. Follow the links of the list, or leave it out to begin again.', members: { parameter: 'cursor' } })
}
