import { toCollection } from '../engine/collection.ts'
import { isObject, isStringArray } from '../http/json-value.ts'
import { toTotalOrder } from '../query/selection.ts'
import type { RelationKey } from '../storage/contract.ts'
import type { GivenRelations } from './relation.ts'
import type { Definitions } from '../engine/relation-types.ts'

/** Finds the properties by which relations find items of one of the definitions. */
export function findKeys (definitions: Definitions, given: GivenRelations, name: string): RelationKey[] {
  const { id, lists } = toCollection(definitions[name]!)
  const keys: RelationKey[] = []
  for (const [source, relations] of Object.entries(given)) {
    // Whether the options are valid is checked for the collection that has the relation.
    for (const { to, by, property, order, references } of Object.values(relations).filter(isObject)) {
      if (to === name && by !== undefined) {
        keys.push({ property: by, order: isStringArray(order) ? toTotalOrder(order, id.property) : lists.order })
      }
      // Before the other item is removed, the items that refer to it are looked for.
      if (source === name && property !== undefined && references === true) {
        const target = Object.hasOwn(definitions, to) ? toCollection(definitions[to]!).baseStorage : undefined
        keys.push({ property, order: [], ...target && { references: target } })
      }
    }
  }
  return keys
}
