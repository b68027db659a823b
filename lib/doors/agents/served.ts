import { collectHooks, getRequestHooks } from '../../engine/access/check-hooks.ts'
import type { ActionName } from '../../engine/action.ts'
import { toCollection } from '../../engine/collection.ts'
import type { Collection, Definition } from '../../engine/collection.ts'
import type { ServedCollection } from '../../engine/registry.ts'
import { getRouteOptions } from '../../engine/route-options.ts'
import { BadMcp } from '../../errors/errors.ts'
import { findAgentActions } from './actions.ts'
import type { AgentAction } from './actions.ts'

// The collections of the app that agents can use. Those that they cannot use safely are refused at boot.

/** Returns what agents can do, in the order of the collections. */
export function findServedActions (
  definitions: readonly Definition[],
  registered: readonly ServedCollection[]
): AgentAction[] {
  const collections = definitions.map((definition) => findServed(toCollection(definition), registered))
  return collections.flatMap((collection, index) => {
    const { name } = collection
    if (collections.findIndex((other) => other.name === name) < index) {
      throw new BadMcp(`two collections have the name ${name}, so a call could not say which one it is about. ` +
        'Leave one of them out.')
    }
    checkAuthentication(collection, collections[0]!)
    const actions = findAgentActions(collection)
    checkRouteHooks(collection, actions)
    return actions
  })
}

function findServed ({ name, attached }: Collection, registered: readonly ServedCollection[]): Collection {
  // The definition may have been copied to add register options. Its features are the same object.
  const [served, other] = registered.filter(({ collection }) => collection.attached === attached)
  if (served === undefined) {
    throw new BadMcp(`this app does not serve the collection ${name}. Register it with ` +
      'app.register(collection, definition), and pass the same definition: ' +
      'with() and relate() return other definitions.')
  }
  if (other !== undefined) {
    throw new BadMcp(`${name} is served at ${served.path} and at ${other.path}, so a call could not say which one it ` +
      'is about. Leave it out.')
  }
  const { collection, path } = served
  const parameters = path.split('/').filter((segment) => /[:*(]/.test(segment))
  const expected = collection.attached.parent === undefined ? '' : ':parent'
  if (parameters.join() !== expected || Object.keys(collection.http.routes.all?.constraints ?? {}).length > 0) {
    throw new BadMcp(`the routes of ${name}, at ${path}, have parameters in their prefix or constraints, ` +
      'which a call of an agent cannot have. Leave it out.')
  }
  return collection
}

function checkAuthentication ({ name, access }: Collection, first: Collection): void {
  if (access?.authenticate === first.access?.authenticate) return
  throw new BadMcp(`${name} and ${first.name} do not have the same function access.authenticate, ` +
    'so a request could have two callers. Share the function, for example with defineWith(); ' +
    'a collection that is open to everyone states allow: \'public\' beside it.')
}

/** Hooks in `routes` do not run for agents: a caller that such a hook refuses could write through a tool. */
function checkRouteHooks (collection: Collection, actions: readonly AgentAction[]): void {
  const { name, http: { routes }, access, attached: { parent } } = collection
  for (const { action } of actions) {
    const { key, custom, rules } = action
    const hasHooks = [routes.all, getRouteOptions(collection, action)].some((route) => collectHooks(route).length > 0)
    const isExplicit = custom === undefined
      ? rules.every((rule) => access?.explicit.has(rule as ActionName) === true)
      : custom.allow !== undefined || access?.explicit.has('all') === true
    if (hasHooks && !isExplicit) refuseHooks(name, key)
  }
  if (parent === undefined || parent.collection.access?.explicit.has('read') === true) return
  if (getRequestHooks(parent.collection, 'read').length > 0) refuseHooks(parent.collection.name, 'read')
}

function refuseHooks (name: string, action: string): never {
  throw new BadMcp(`the hooks in the routes of ${name} do not run for agents, ` +
    `and its access does not state who may call ${action}. ` +
    `State it in access.allow of ${name} ("public" means everyone), or leave the collection out.`)
}
