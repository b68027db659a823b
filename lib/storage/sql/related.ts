import type { RelatedRows, Storage } from '../contract.ts'
import { aliasLayout } from './alias-layout.ts'
import type { KeyColumn } from './dialect.ts'
import type { Kind } from './kind.ts'
import { getColumn, type Layout } from './layout.ts'

/** The layout of a storage: statements of other storages find it by this. A copy of the storage has it, too. */
export const layoutKey = Symbol('layout')

/** Returns the layout of a storage; undefined if it is not one of a SQL database. */
export function getLayout (storage: Storage<object>): Layout | undefined {
  return (storage as { readonly [layoutKey]?: Layout })[layoutKey]
}

/** Returns the layout of a storage that a filter or an order refers to. */
export function findLayout (storage: Storage<object>, { dialect }: Layout): Layout {
  const layout = getLayout(storage)
  if (layout === undefined || layout.dialect !== dialect) {
    throw new TypeError(`A filter or an order refers to rows of the storage ${storage.name}, ` +
      'which is not in the same database.')
  }
  return layout
}

/** Builds the condition that a row belongs to another one. `found` has an alias, and its index is used. */
export function buildRelation (found: Layout, given: Layout, { property, equals }: RelatedRows): string {
  const outer = given.alias === undefined ? aliasLayout(given, given.table) : given
  const foundKey = toKeyColumn(found, equals)
  const givenKey = toKeyColumn(outer, property)
  if (!canBeEqual(foundKey.kind, givenKey.kind)) return '1 = 0'
  return found.dialect.isEqualKey(foundKey, givenKey)
}

/** The two sides of that condition, for a list of all keys that are found; undefined if none can be equal. */
export function getRelationKeys (
  found: Layout,
  given: Layout,
  { property, equals }: RelatedRows
): { readonly found: string, readonly given: string } | undefined {
  const foundKey = toKeyColumn(found, equals)
  const givenKey = toKeyColumn(given, property)
  if (!canBeEqual(foundKey.kind, givenKey.kind)) return undefined
  const { dialect } = found
  const [comparable] = dialect.equatable(givenKey.sql, givenKey.kind, givenKey.managed)
  return { found: dialect.ordered(foundKey.sql, foundKey.kind, foundKey.managed), given: comparable }
}

function toKeyColumn (layout: Layout, property: string): KeyColumn {
  const { sql, kind } = getColumn(layout, property)
  return { sql, kind, managed: layout.managed }
}

const groups: Readonly<Record<Kind, string>> = {
  boolean: 'boolean',
  integer: 'number',
  number: 'number',
  text: 'text',
  uuid: 'text',
  date: 'date',
  'date-time': 'date-time',
  json: 'json'
}

/** Text is never equal to a number, although databases convert one to the other. */
function canBeEqual (a: Kind, b: Kind): boolean {
  return groups[a] === groups[b] && a !== 'json'
}
