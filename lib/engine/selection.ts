import { hash } from 'node:crypto'
import type { Embedded } from '../http/link.ts'
import type { ItemType } from '../schema/item-type.ts'
import type { Entry } from '../storage/contract.ts'
import type { EntryOutcome } from './operation.ts'

/** Returns the properties that contain related items, for a format that writes them in its own way. */
export type Embed = (related: Embedded) => object

/** What a feature adds to the items of a response. */
export interface Addition {
  /** Returns the properties that it adds to an item. */
  add (entry: Entry<object>, embed?: Embed): object
  /** Distinguishes this representation of an entry from others of the same version. */
  version (entry: Entry<object>): string
}

/** Items in another form than they are stored: with some of their properties, or with additions. */
export interface Selection {
  /** Only these properties. */
  readonly fields: readonly string[] | undefined
  readonly additions: readonly Addition[]
}

/** Returns what a read requests of the items; undefined if it requests them as they are. */
export function getSelection (
  { listQuery, related }: Pick<EntryOutcome, 'listQuery' | 'related'>
): Selection | undefined {
  const fields = listQuery?.fields
  const addition = related?.addition
  if (fields === undefined && addition === undefined) return undefined
  return { fields, additions: addition === undefined ? [] : [addition] }
}

/** Returns the item as a response has it: the selected parts, with the additions. */
export function applySelection (
  type: Pick<ItemType, 'show'>,
  entry: Entry<object>,
  selection: Selection | undefined,
  embed?: Embed
): object {
  const item = type.show(entry.item)
  if (selection === undefined) return item
  const { fields, additions } = selection
  const picked = fields === undefined
    ? item
    : Object.fromEntries(Object.entries(item).filter(([name]) => fields.includes(name)))
  if (additions.length === 0) return picked
  return Object.assign({}, picked, ...additions.map(({ add }) => add(entry, embed)))
}

/** Each selection is another representation, and has its own version. */
export function getSelectionVersion (
  type: Pick<ItemType, 'getVersion'>,
  entry: Entry<object>,
  { fields, additions }: Selection
): string {
  let selected = type.getVersion(entry)
  if (fields !== undefined) selected += `~${fields.join()}`
  for (const { version } of additions) selected += version(entry)
  return selected
}

/** Distinguishes the places of an entry in an order by related items, which change without the entry. */
export function getPositionVersion ({ position }: Entry<object>): string {
  return position === undefined ? '' : `@${JSON.stringify(position)}`
}

/** Shortens versions, for an entity tag. */
export function hashVersions (versions: string): string {
  return hash('sha1', versions, 'base64url')
}
