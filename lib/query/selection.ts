import type { Lists } from './lists.ts'
import type { Order } from '../storage/contract.ts'
import { joinNames } from './join-names.ts'
import type { ListOrder, ListQuery } from './list-query.ts'
import { findSortRelation, getSortable, splitName } from './names.ts'

// The parameters `sort` and `fields`. A returned string states what the value must be.

/** Of related items in one order. Each is read from another table, and databases limit how many a statement has. */
const maxRelated = 10

/** Parses names such as `-createdAt`. */
export function parseSort (lists: Lists, names: readonly string[]): ListQuery | string {
  const sortable = getSortable(lists)
  const properties = names.map((name) => name.replace(/^-/, ''))
  const isWrong = (property: string, index: number) => {
    return sortable.get(property) === undefined || properties.indexOf(property) < index
  }
  const wrong = properties.find(isWrong)
  if (names.length === 0 || wrong !== undefined) {
    return 'properties separated by commas, each once, with - in front for descending order: ' +
      joinNames(sortable.keys(), wrong) + describeWrong(wrong) +
      (sortable.get(wrong ?? '') === undefined ? '' : ' twice')
  }
  if (properties.filter((property) => sortable.get(property)?.isRelated).length > maxRelated) {
    return `an order by at most ${maxRelated} properties of related items`
  }
  const order = toTotalOrder(names, lists.type.id.property)
  return { order: lists.relations === undefined ? order : order.map((by) => followOrder(lists, by)) }
}

/** Adds the relation whose items have the property. */
function followOrder (lists: Lists, order: Order): ListOrder {
  const [relation, rest] = splitName(order.property)
  const through = findSortRelation(lists, relation)
  const found = through?.lists.sortable.get(rest)
  return found === undefined ? order : { ...order, through: through!, schema: found.schema }
}

export function parseFields ({ visible }: Lists, names: readonly string[]): ListQuery | string {
  const fields = new Set(names)
  const wrong = names.find((name) => !visible.has(name))
  if (names.length === 0 || wrong !== undefined) {
    return `properties separated by commas: ${joinNames(visible, wrong)}${describeWrong(wrong)}`
  }
  // In the order of the schema, so that the same selection has the same entity tag.
  return { fields: [...visible].filter((name) => fields.has(name)) }
}

/** In characters, of a name that a problem repeats. */
const maxNameLength = 50

function describeWrong (name: string | undefined): string {
  return name === undefined ? '' : `; not ${JSON.stringify(name.slice(0, maxNameLength))}`
}

/** Parses names such as `-createdAt` to an order that ends with the id, so that no two items are equal. */
export function toTotalOrder (names: readonly string[], id: string): readonly Order[] {
  const order = names.map((name) => {
    const descending = name.startsWith('-')
    return { property: descending ? name.slice(1) : name, descending }
  })
  const last = order.findIndex(({ property }) => property === id)
  return last < 0 ? [...order, { property: id, descending: false }] : order.slice(0, last + 1)
}
