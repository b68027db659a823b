import type { Action } from '../action.ts'
import type { Collection } from '../collection.ts'
import type { ActionInfo } from '../features/feature.ts'
import { getAuthorization } from '../access/authorize.ts'
import { checkParent } from '../access/parent.ts'
import { withPage } from './html-page.ts'
import { withTrace } from './trace-action.ts'

/** Wraps an action in what the definition and its features put around it. */
export function composeAction (collection: Collection, action: Action, info: ActionInfo): Action {
  // A custom action is a POST, even if it only reads.
  const isRead = info.safe && info.custom === undefined
  const composed = collection.attached.composeAction(action, info, [
    { phase: 'render', wrap: (next) => withPage(collection, { action: next, at: info.at, safe: isRead }) },
    { phase: 'authorize', wrap: (next) => withParentCheck(collection, next) }
  ])
  return withTrace(info.name, composed)
}

function withParentCheck ({ parent }: Collection, action: Action): Action {
  if (parent === undefined) return action
  return async (collection, request) => {
    const scope = getAuthorization(request.original)?.parentScope?.filter
    return await checkParent(parent, request, scope) ?? action(collection, request)
  }
}
