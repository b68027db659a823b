import type { Action, Result } from './action.ts'
import type { Collection } from './definition.ts'
import { buried, exhumed } from './graveyard.ts'
import { Problem } from './http/problems.ts'
import { followed } from './moved-item.ts'

/** The action on an item, which explains a 404 if the item has moved or was removed. */
export function explained ({ moved, tombstones, replace: { creates } }: Collection, action: Action): Action {
  if (moved === undefined && tombstones === undefined) return action
  return async function (...asked) {
    const [collection, request] = asked
    // A PUT that creates is no 404, but the id of a removed item is still in use.
    if (creates && request.original.method === 'PUT' && tombstones !== undefined && await buried(tombstones, collection, request) === 'marked') return exhumed(tombstones, action, asked)
    const result = await action(collection, request)
    if (!(result instanceof Problem) || result.name !== 'absent') return result
    return await explanation() ?? result

    async function explanation (): Promise<Result | undefined> {
      const answer = moved && await followed(moved, collection, request)
      if (answer !== undefined || tombstones === undefined || await buried(tombstones, collection, request) === undefined) return answer
      return exhumed(tombstones, action, asked)
    }
  }
}
