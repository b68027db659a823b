import type { Action, Result } from './action.ts'
import type { Collection } from './definition.ts'
import { HookError } from './fault.ts'
import { Problem, problem } from './http/problems.ts'
import type { Change } from './options.ts'
import type { Request } from './request.ts'
import type { Tombstones } from './tombstones.ts'
import { membersSeen } from './visibility.ts'

// Where actions meet what was removed and is kept: 410, `?deleted=true`, and the way back.

/** What a read gives, with what was removed where a client asks for it that may. */
export function unearthed ({ tombstones }: Collection, action: Action): Action {
  if (tombstones?.permitted === undefined) return action
  return async function (collection, request) {
    if (request.query.deleted !== 'true') return action(collection, request)
    if (!await permits(tombstones, request)) return problem('forbidden', { detail: 'What was removed is not yours to see.' })
    const result = await action({ ...collection, storage: tombstones.whole }, request)
    if (result instanceof Problem) return result
    // It is for this caller, whatever the policy of the definition says of others.
    return { ...result, fields: { ...result.fields, 'cache-control': 'no-store' } }
  }
}

/** Whether the item is there, be it under a tombstone. */
export async function buried (tombstones: Tombstones, { id }: Collection, { segment, context }: Request): Promise<'marked' | 'unmarked' | undefined> {
  const name = id.read(segment)
  const entry = name === undefined ? undefined : await tombstones.whole.find(name, context)
  return entry && (isMarked(entry.item, tombstones) ? 'marked' : 'unmarked')
}

/** 410, unless the action brings the item back and the caller may. */
export async function exhumed (tombstones: Tombstones, action: Action, [collection, request]: Parameters<Action>): Promise<Result> {
  const restores = request.original.method === 'PUT' || request.original.method === 'PATCH'
  if (!restores || !await permits(tombstones, request)) return problem('gone')
  return action(opened(collection, tombstones), request)
}

/** The same collection, in which the mark is a member like others; what still bears it in the end is gone. */
function opened (collection: Collection, tombstones: Tombstones): Collection {
  const { member, whole, open, nullable } = tombstones
  return {
    ...collection,
    storage: whole,
    members: membersSeen(open, collection.hidden),
    validate: { ...collection.validate, draft: open.draft },
    hooks: { ...collection.hooks, prepare: true },
    prepare (change: Change<object>) {
      if (isMarked(change.item, tombstones)) return problem('gone', { detail: `The item comes back with a PUT, or with a PATCH whose ${member} is null.` })
      return collection.prepare(nullable ? { ...change, item: { ...change.item, [member]: null } } : change)
    }
  }
}

function isMarked (item: object, { member }: Tombstones): boolean {
  return (Reflect.get(item, member) ?? null) !== null
}

async function permits ({ permitted }: Tombstones, { original }: Request): Promise<boolean> {
  try {
    return permitted !== undefined && await permitted(original)
  } catch (error) {
    throw new HookError(error)
  }
}
