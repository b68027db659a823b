import type { Throwing } from './action.ts'
import type { Answer } from './answer.ts'
import type { Collection } from './definition.ts'
import { buried, exhumed } from './graveyard.ts'
import { Problem } from './http/problems.ts'
import { followed } from './moved-item.ts'

/** The action on an item, with what is known of items that are not where they were. Where nothing is, the action itself. */
export function explained ({ moved, tombstones, replace: { creates } }: Collection, action: Throwing): Throwing {
  if (moved === undefined && tombstones === undefined) return action
  return async function (...asked) {
    const [collection, request] = asked
    // Where PUT creates, it does not miss what is gone, but its id is still taken.
    if (creates && request.original.method === 'PUT' && tombstones !== undefined && await buried(tombstones, collection, request) === 'marked') return exhumed(tombstones, action, asked)
    try {
      return await action(collection, request)
    } catch (thrown) {
      if (!(thrown instanceof Problem) || thrown.name !== 'absent') throw thrown
      return await explanation() ?? rethrown(thrown)
    }

    async function explanation (): Promise<Answer | undefined> {
      const answer = moved && await followed(moved, collection, request)
      if (answer !== undefined || tombstones === undefined || await buried(tombstones, collection, request) === undefined) return answer
      return exhumed(tombstones, action, asked)
    }
  }
}

function rethrown (thrown: Problem): never {
  throw thrown
}
