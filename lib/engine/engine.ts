import type { ActionName } from './action.ts'
import { toCollection } from './collection.ts'
import type { Collection, Definition } from './collection.ts'
import type { ActionInfo, AggregateAction, BulkAction, CustomAction } from './action-info.ts'
import { problem } from '../http/problems.ts'
import { create, innermost, list, read, remove, replace, update } from './actions.ts'
import { composeSteps, describeSteps } from './compose.ts'
import type { Door, Run, Steps } from './operation.ts'
import { findParent } from './parent.ts'

// One engine for all doors: authorize -> [ find -> check -> content -> validate -> write ] -> outcome.

/** The six actions, as features see them. */
export const actionInfos: Readonly<Record<ActionName, ActionInfo>> = {
  list: { name: 'list', at: 'collection', safe: true },
  create: { name: 'create', at: 'collection', safe: false },
  read: { name: 'read', at: 'item', safe: true },
  replace: { name: 'replace', at: 'item', safe: false },
  update: { name: 'update', at: 'item', safe: false },
  remove: { name: 'remove', at: 'item', safe: false }
}

/** The same for a custom action. */
export function toActionInfo (custom: CustomAction): ActionInfo {
  const { name, at, safe } = custom
  return { name, at, safe, custom }
}

/** The same for a variant of an action that is about several items. */
export function toBulkInfo (bulk: BulkAction): ActionInfo {
  return { name: bulk.name, at: 'collection', safe: false, bulk }
}

/** The same for figures over groups of items. */
export function toAggregateInfo (aggregate: AggregateAction): ActionInfo {
  return { ...actionInfos.list, aggregate }
}

const runs: Readonly<Record<string, Run>> = { list, create, read, replace, update, remove }

/** Returns the functions of an action, with the layers of features. They are composed once for each door. */
export function getSteps (
  collection: Collection,
  action: ActionInfo,
  { door, isJoined }: { readonly door: Door, readonly isJoined: boolean }
): Steps {
  const key = `${getStepsName(action)} ${door} ${isJoined}`
  let steps = collection.steps.get(key)
  if (steps === undefined) {
    const { attached: { layers } } = collection
    const authorized = action.custom?.run ?? action.bulk?.run ?? action.aggregate?.run ?? runs[action.name]!
    const core = { ...innermost, authorized, surround: (next: Run) => withParentCheck(collection, next) }
    collection.steps.set(key, steps = composeSteps(layers, action, core, { door, isJoined }))
  }
  return steps
}

/** `updateMany` for an action that is about several items. */
function getStepsName ({ name, bulk, aggregate }: ActionInfo): string {
  if (aggregate !== undefined) return 'aggregate'
  return bulk === undefined ? name : `${name}Many`
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
  const custom = [...collection.attached.actions.values()].map(toActionInfo)
  // Over HTTP, a POST creates one item or several.
  const bulk = [...collection.attached.bulk.values()].filter(({ run }) => run !== undefined || door === 'code')
  const { aggregate } = collection.attached
  const actions = [
    ...[...collection.actions].map((name) => actionInfos[name]),
    ...aggregate === undefined ? [] : [toAggregateInfo(aggregate)],
    ...bulk.map(toBulkInfo),
    ...custom
  ]
  return actions
    .map((action) => describeSteps(getStepsName(action), getSteps(collection, action, { door, isJoined: false })))
    .join('\n')
}
