import type { Collection } from '../../engine/collection.ts'
import { bindAction } from '../../engine/engine.ts'
import { Operation } from '../../engine/operation.ts'
import { render } from '../../engine/rendering.ts'
import type { ActionInfo } from '../../engine/action-info.ts'
import { Problem } from '../../http/problems.ts'
import { prepareRequest, respondWithHtml } from './html-page.ts'
import { createCheck } from './preconditions.ts'
import { respond } from './respond.ts'
import { markReplayed } from './response.ts'
import { withTrace } from './trace-action.ts'
import type { Action } from './trace-action.ts'

// The door for HTTP: a request becomes an operation, and its outcome a response.

/** Creates the function that handles the requests of an action. */
export function createAction (collection: Collection, action: ActionInfo): Action {
  const bound = bindAction(collection, action, { door: 'http', isJoined: false })
  const hasPages = collection.http.formats.some(({ page }) => page !== undefined)
  const handle: Action = async (received) => {
    const request = hasPages ? prepareRequest(received) : received
    const { segment, place, context, original, preferences } = request
    const operation = new Operation(bound, request.access, {
      input: request,
      segment,
      place,
      context,
      log: original.log,
      request: original,
      check: createCheck(action, request),
      prefers: preferences.return
    })
    const outcome = await bound.steps.run(operation)
    if (outcome instanceof Problem) return outcome
    const rendering = render(outcome, operation)
    const response = request.format.page === undefined
      ? respond(request, rendering)
      : await respondWithHtml(received, request, rendering)
    return outcome.kind === 'replayed' ? markReplayed(response) : response
  }
  return withTrace({ collection: collection.name, action: action.name }, handle)
}
