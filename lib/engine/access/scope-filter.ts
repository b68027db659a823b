import { parseFilterKey } from '../../query/conditions.ts'
import type { FilterKey } from '../../query/conditions.ts'
import { parseFilter } from '../../query/parse.ts'
import { findQueryable } from '../../query/queryable.ts'
import type { QueryableProperty } from '../../query/queryable.ts'
import type { FilterTree, Path, Term } from '../../query/tree.ts'
import type { ItemType } from '../../schema/item-type.ts'
import type { Condition, ItemFilter, Scalar } from '../../storage/contract.ts'

// A filter of `access.scope` has the form of those of QUERY and of calls. What is not exactly that throws: a condition
// that is left out would show rows to everyone.

interface Target {
  /** The name of the collection. */
  readonly name: string
  readonly queryable: ReadonlyMap<string, QueryableProperty>
}

const known = new WeakMap<object, Target['queryable']>()

/** Returns the filter for storages. */
export function readScopeFilter (name: string, type: ItemType, given: object): ItemFilter {
  let queryable = known.get(type)
  // The app knows the values that no client may read.
  if (queryable === undefined) known.set(type, queryable = findQueryable(type, { writeOnly: true }))
  return resolveTree(parseFilter(given, ['filter']), { name, queryable })
}

/** Where in the filter. */
interface Place {
  readonly target: Target
  readonly at: Path
}

function resolveTree (tree: FilterTree, target: Target): ItemFilter {
  switch (tree.kind) {
    case 'object':
    case 'all': {
      const parts = tree.parts.map((part) => resolveTree(part, target))
      if (parts.length > 1) return { all: parts }
      return parts[0] ?? fail(target, tree.at, 'has no conditions. Return undefined for a caller that sees all rows')
    }
    case 'any': return { any: tree.parts.map((part) => resolveTree(part, target)) }
    case 'not': return { not: resolveTree(tree.filter, target) }
    case 'term': return resolveTerm(tree, target)
    case 'mistake': return fail(target, tree.at, tree.message)
    case 'related': return fail(target, tree.at, 'is about related items')
  }
}

function resolveTerm ({ name, value, at }: Term, target: Target): Condition {
  const key = parseFilterKey(name.text, target.queryable)
  if (key === undefined) {
    const names = [...target.queryable.keys()].join(', ')
    return fail(target, at, `is no property, or has an unknown operator. Properties: ${names}`)
  }
  const { property, is } = key
  // What the operator takes was checked.
  return { property, is, value: readOperand(key, value, { target, at }) } as Condition
}

/** A value that the property cannot have, such as an id of another form, matches no row. */
function readOperand ({ property, takes }: FilterKey, value: unknown, place: Place): Scalar | readonly Scalar[] {
  const { target, at } = place
  if (takes === 'values') {
    if (!Array.isArray(value)) return fail(target, at, 'must be an array of values')
    return value.map((one, index) => readScalar(one, { target, at: [...at, String(index)] }))
  }
  if (value === null) return fail(target, at, `is null. Write '${property}.null': true for rows without a value`)
  if (takes === 'boolean' && typeof value !== 'boolean') return fail(target, at, 'must be true or false')
  if (takes === 'pattern' && typeof value !== 'string') return fail(target, at, 'must be a text')
  return readScalar(value, place)
}

function readScalar (value: unknown, { target, at }: Place): Scalar {
  if (value instanceof Date) return value.toISOString()
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value
  return fail(target, at, value === undefined
    ? 'has no value. Refuse such a caller with access.allow, or throw a problem'
    : 'must be a text, a number, a boolean or a Date')
}

function fail ({ name }: Target, at: Path, message: string): never {
  const place = at.map((part) => /^\d+$/.test(part) ? `[${part}]` : `.${part}`).join('').slice(1)
  throw new TypeError(`The scope of the collection ${name}: ${place} ${message}.`)
}
