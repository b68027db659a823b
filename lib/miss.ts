import type { Collection } from './definition.ts'
import type { Action } from './handler.ts'
import { Problem } from './http/problems.ts'
import { followed } from './moved-item.ts'

/** The action on an item, with what is known of items that are not where they were. Where nothing is, the action itself. */
export function explained ({ moved }: Collection, action: Action): Action {
  if (moved === undefined) return action
  return async function (collection, request) {
    try {
      return await action(collection, request)
    } catch (thrown) {
      if (!(thrown instanceof Problem) || thrown.name !== 'absent') throw thrown
      const answer = await followed(moved, collection, request)
      if (answer === undefined) throw thrown
      return answer
    }
  }
}
