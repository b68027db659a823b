import { toCollection } from './collection.ts'
import type { Collection, Definition } from './collection.ts'
import type { ActionInfo } from './action-info.ts'
import { problem } from '../http/problems.ts'
import { innermost } from './actions.ts'
import { composeSteps, describeSteps } from './compose.ts'
import type { BoundAction, Door, Run } from './operation.ts'
import { findParent } from './parent.ts'
import { getTable } from './table.ts'

// One engine for all doors: authorize -> [ find -> check -> content -> validate -> write ] -> outcome.

/** Returns an action as a door calls it, alone or in a transaction. Its layers are composed once. */
export function bindAction (
  collection: Collection,
  action: ActionInfo,
  { door, isJoined }: { readonly door: Door, readonly isJoined: boolean }
): BoundAction {
  const key = `${action.key} ${door} ${isJoined}`
  let bound = collection.bound.get(key)
  if (bound === undefined) {
    const { attached: { layers } } = collection
    const core = { ...innermost, authorized: action.run, surround: (next: Run) => withParentCheck(collection, next) }
    const steps = composeSteps(layers, action, core, { door, isJoined })
    collection.bound.set(key, bound = { collection, door, action, steps })
  }
  return bound
}

/** 404 if the parent in the URI does not exist for the caller. */
function withParentCheck ({ attached: { parent } }: Collection, next: Run): Run {
  if (parent === undefined) return next
  return async (operation) => {
    const id = operation.fixed?.[parent.property]
    if (id === undefined) return next(operation)
    const { transaction } = operation
    const found = await findParent(operation, parent, { id, transaction })
    return found === undefined ? problem('not-found') : next(operation)
  }
}

/**
 * Returns a line for each action of a definition: the layers of features around it, from the outside in.
 *
 * @example
 * console.log(describeLayers(orders)) // create: authorize > timeout > content(bulk) ...
 */
export function describeLayers (definition: Definition<object, unknown>, door: Door = 'http'): string {
  const collection = toCollection(definition)
  return getTable(collection)
    // QUERY has the layers of a list, and the GET of a custom action those of its POST.
    .filter(({ isVariant }) => !isVariant)
    .filter(({ methods }) => methods.length > 0 || door === 'code')
    .map((action) => describeSteps(action.key, bindAction(collection, action, { door, isJoined: false }).steps))
    .join('\n')
}
