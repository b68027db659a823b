import type { Collection } from '../definition.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import type { Entry, Filter, JsonSchema, Order, Position, Scalar } from '../storage/contract.ts'
import { fits } from './conditions.ts'

// Where a page begins: opaque, and all that has to be known is in it, so that any process can go on.

/** What a cursor belongs to. */
export interface Bound {
  readonly filter: Filter | undefined
  readonly search: string | undefined
  readonly order: readonly Order[]
}

export type Direction = 'after' | 'before'

export function writeCursor (collection: Collection, bound: Bound, [direction, { item }]: [Direction, Entry<object>]): string {
  const content = JSON.stringify([direction, ...positionOf(item, bound.order)])
  return Buffer.from(seal(collection, bound, content) + content).toString('base64url')
}

/** Where the item stands. */
export function positionOf (item: object, order: readonly Order[]): Position {
  return order.map(({ member }) => valueAt(item, member) ?? null)
}

function valueAt (item: object, member: string): Scalar | null | undefined {
  if (!member.includes('.')) return (item as Record<string, Scalar | null>)[member]
  let value: unknown = item
  for (const name of member.split('.')) value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
  return value as Scalar | null | undefined
}

const sealLength = 7

/** Tells a cursor from elsewhere, or one that was changed. It keeps no secret. */
function seal ({ name }: Collection, { filter, search = '', order }: Bound, content: string): string {
  let hash = mixed(0x811c9dc5, name)
  for (const { member, descending } of order) hash = mixed(mixed(hash, member), descending ? '-' : '+')
  if (filter !== undefined) hash = mixed(hash, JSON.stringify(filter))
  return (mixed(mixed(hash, search), content) >>> 0).toString(36).padStart(sealLength, '0')
}

function mixed (hash: number, text: string): number {
  let mixture = hash
  for (let index = 0; index < text.length; index++) mixture = Math.imul(mixture ^ text.charCodeAt(index), 0x01000193)
  return mixture
}

export function readCursor (collection: Collection, given: string, bound: Bound): { after?: Position, before?: Position } {
  const text = Buffer.from(given, 'base64url').toString()
  const content = text.slice(sealLength)
  if (text.slice(0, sealLength) !== seal(collection, bound, content)) throw foreign()
  const [direction, ...position] = read(content)
  const known = position.length === bound.order.length && bound.order.every(({ member }, index) => {
    const value = position[index]
    return value === null || fits(value, schemaOf(collection, member))
  })
  if (!known || (direction !== 'after' && direction !== 'before')) throw foreign()
  return { [direction]: position }
}

/** The order that the definition states may have members by which no client can ask; that the schema has them was checked at boot. */
function schemaOf ({ listing, schema }: Collection, member: string): JsonSchema {
  return listing.known.get(member)?.schema ?? schema.properties![member]!
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

function foreign (): Problem {
  return problem('bad-query', { detail: 'cursor is none that this list has given. Follow the links of the list, or leave it out to begin anew.', members: { parameter: 'cursor' } })
}
