import type { Action, Throwing } from './action.ts'
import { inTime } from './deadline.ts'
import type { Collection } from './definition.ts'
import { grantOf } from './grant.ts'
import { unearthed } from './graveyard.ts'
import { Problem } from './http/problems.ts'
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

/** The action with what the definition puts around it, from the inside out: nothing where it says nothing. */
export function decided (collection: Collection, row: Row): Action {
  const inner = throwing(row.action)
  const outer = surrounded(collection, row, inner)
  return outer === inner ? row.action : outer
}

function throwing (action: Action): Throwing {
  return (collection, request) => action(collection, request).then(given => {
    if (given instanceof Problem) throw given
    return given
  })
}

function surrounded (collection: Collection, { name, at, queried }: Row, action: Throwing): Throwing {
  const { idempotency, deadline } = collection
  const repeated = idempotency?.actions.has(name) === true ? repeatable(action, name, idempotency) : action
  const seen = queried ? unearthed(collection, repeated) : repeated
  const answered = at === 'item' ? explained(collection, seen) : seen
  return timely(inParent(collection, paged(collection, { action: answered, at, safe: queried })), deadline[name])
}

function inParent ({ parent }: Collection, action: Throwing): Throwing {
  if (parent === undefined) return action
  return async (collection, request) => {
    await checkParent(parent, request, grantOf(request.original)?.parents?.filter)
    return action(collection, request)
  }
}

function timely (action: Throwing, milliseconds: number | undefined): Throwing {
  return milliseconds === undefined ? action : (collection, request) => inTime(milliseconds, request.context, async () => action(collection, request))
}
