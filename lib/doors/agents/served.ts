import { checkAuthentication, checkRouteHooks } from '../../engine/access/check-door.ts'
import { toCollection } from '../../engine/collection.ts'
import type { Collection, Definition } from '../../engine/collection.ts'
import type { ServedCollection } from '../../engine/registry.ts'
import { BadMcp } from '../../errors/errors.ts'
import { findAgentActions } from './actions.ts'
import type { AgentAction } from './actions.ts'

// The collections of the app that agents can use. Those that they cannot use safely are refused at boot.

const door = {
  calls: 'agents',
  request: 'a request',
  fail (message: string): never {
    throw new BadMcp(message)
  }
}

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
    checkAuthentication(collection, collections[0]!, door)
    const actions = findAgentActions(collection)
    checkRouteHooks(collection, actions.map(({ action }) => action), door)
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
