import type { Collection } from '../../engine/collection.ts'
import { bindAction } from '../../engine/engine.ts'
import { Operation } from '../../engine/operation.ts'
import type { ActionInfo } from '../../engine/action-info.ts'
import { Problem } from '../../http/problems.ts'
import { withPage } from './html-page.ts'
import { buildPage } from './page.ts'
import { createCheck } from './preconditions.ts'
import { renderEntry, renderGroups, renderPage, renderReadOutput, renderWrite, returnsRemoved } from './render.ts'
import { withTrace } from './trace-action.ts'
import type { Action } from './trace-action.ts'

// The door for HTTP: a request becomes an operation, and its outcome a response.

/** Creates the function that handles the requests of an action. */
export function createAction (collection: Collection, action: ActionInfo): Action {
  const bound = bindAction(collection, action, { door: 'http', isJoined: false })
  const { key, at, reads, takes, query } = action
  const handle: Action = async (request) => {
    const { segment, place, context, original } = request
    const operation = new Operation(bound, request.access, {
      input: request,
      segment,
      place,
      context,
      log: original.log,
      request: original,
      check: createCheck(action, request),
      returnsRemoved: key === 'remove' && returnsRemoved(request)
    })
    const outcome = await bound.steps.run(operation)
    if (outcome instanceof Problem) return outcome
    if (outcome.kind === 'page') {
      const isPlain = takes !== 'query' && outcome.isPrivate !== true
      return isPlain ? buildPage(collection, request, outcome) : renderPage(collection, request, outcome)
    }
    if (outcome.kind === 'groups') return renderGroups(collection, request, outcome)
    if (reads && outcome.kind === 'output') return renderReadOutput(collection, request, outcome)
    if (outcome.kind !== 'entry' || !reads) return renderWrite(collection, request, outcome)
    return renderEntry(collection, request, outcome)
  }
  const paged = withPage(collection, { action: handle, at, safe: reads, isAggregate: query === 'groups' })
  return withTrace({ collection: collection.name, action: action.name }, paged)
}
