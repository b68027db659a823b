import type { ActionInfo } from '../../engine/action-info.ts'
import type { Collection } from '../../engine/collection.ts'
import { bindAction } from '../../engine/engine.ts'
import type { BoundAction } from '../../engine/operation.ts'
import { getSingleActions } from '../../engine/table.ts'
import { BadMcp } from '../../errors/errors.ts'

// What agents can do with a collection, and which arguments they pass: read from its table once, at boot.

/** An argument of a tool, beside those that say which action of which collection is called. */
export type ArgumentName = 'parent' | 'id' | 'tag' | 'key' | 'item' | 'patch' | 'input' | 'query'

export type Needs = ReadonlyMap<ArgumentName, 'required' | 'optional'>

/** An action of a collection, as agents call it. */
export interface AgentAction {
  readonly collection: Collection
  readonly action: ActionInfo
  readonly bound: BoundAction
  /** The arguments that it takes. */
  readonly needs: Needs
}

const contents = { representation: 'item', patch: 'patch', input: 'input' } as const

/** Returns the actions that agents can call: those about one item or a list. They change items by patches only. */
export function findAgentActions (collection: Collection): AgentAction[] {
  return getSingleActions(collection)
    .filter(({ name }) => name !== 'replace')
    .map((action) => {
      const bound = bindAction(collection, action, { door: 'agents', isJoined: false })
      return { collection, action, bound, needs: findNeeds(bound) }
    })
}

/** A tag prevents that a change of another caller is overwritten, and a key that a repeated call is done twice. */
function findNeeds ({ collection, action, steps }: BoundAction): Needs {
  const { at, safe, takes, query, idempotent } = action
  const needs = new Map<ArgumentName, 'required' | 'optional'>()
  if (collection.attached.parent !== undefined) needs.set('parent', 'required')
  if (at === 'item') needs.set('id', 'required')
  // Whatever HTTP requires: an agent has read the item some time ago.
  const requiresTag = action.requiresMatch(true)
  if (at === 'item' && !safe) needs.set('tag', requiresTag ? 'required' : 'optional')
  if (takes === 'representation' || takes === 'patch' || takes === 'input') {
    needs.set(contents[takes], takes === 'input' ? 'optional' : 'required')
  }
  if (query !== undefined) needs.set('query', 'optional')
  const requiresKey = !safe && !idempotent && !requiresTag
  if (steps.layers.authorized.includes('idempotency')) needs.set('key', requiresKey ? 'required' : 'optional')
  else if (requiresKey) refuseUnrepeatable(collection, action)
  return needs
}

function refuseUnrepeatable ({ name }: Collection, { key }: ActionInfo): never {
  throw new BadMcp(`an agent that repeats ${key} of ${name} would do it twice, because the collection has no place ` +
    `for receipts. Add the feature idempotency() for this action, as in ${name}.with(idempotency()).`)
}
