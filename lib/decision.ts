import type { Action } from './action.ts'
import { inTime } from './deadline.ts'
import type { Collection } from './definition.ts'
import { grantOf } from './grant.ts'
import { unearthed } from './graveyard.ts'
import { explained } from './miss.ts'
import { checkParent } from './nesting.ts'
import type { ActionName } from './options.ts'
import { paged } from './page.ts'
import { repeatable } from './repeatable.ts'

interface Row {
  readonly name: ActionName
  readonly action: Action
  readonly at: 'collection' | 'item'
  readonly queried: boolean
}

/** The action with what the definition puts around it, from the inside out. */
export function composeAction (collection: Collection, { name, action, at, queried }: Row): Action {
  const { idempotency, deadline } = collection
  const repeated = idempotency?.actions.has(name) === true ? repeatable(action, name, idempotency) : action
  const seen = queried ? unearthed(collection, repeated) : repeated
  const answered = at === 'item' ? explained(collection, seen) : seen
  return withTimeout(withParentCheck(collection, paged(collection, { action: answered, at, safe: queried })), deadline[name])
}

function withParentCheck ({ parent }: Collection, action: Action): Action {
  if (parent === undefined) return action
  return async (collection, request) => await checkParent(parent, request, grantOf(request.original)?.parents?.filter) ?? action(collection, request)
}

function withTimeout (action: Action, milliseconds: number | undefined): Action {
  if (milliseconds === undefined) return action
  return (collection, request) => inTime(milliseconds, request.context, () => action(collection, request))
}
