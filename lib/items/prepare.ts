import type { Collection } from '../collection.ts'
import { HookError } from '../failure.ts'
import { isObject } from '../http/json-value.ts'
import { Problem } from '../http/problems.ts'
import type { Change } from '../options.ts'
import { normalizeDates } from '../schema/date-times.ts'
import type { Id } from '../storage/contract.ts'
import { validateItem } from './validation.ts'

/** Calls `hooks.beforeValidation` and validates the item that it returns. `id` is the one in the URI. */
export async function prepareItem (
  collection: Collection,
  change: Change<object>,
  id: Id | undefined
): Promise<object | Problem> {
  let returned: unknown
  try {
    returned = await collection.hooks.beforeValidation!(change)
  } catch (error) {
    // It goes to the error handler unchanged, and refuses the write with its own message.
    throw new HookError(error)
  }
  if (returned instanceof Problem) return returned
  return checkReturned(collection, returned, { source: 'The hook beforeValidation', id })
}

/** Validates what a function of the app has returned. `source` names the function. */
export function checkReturned (
  collection: Collection,
  returned: unknown,
  { source, id }: { source: string, id: unknown }
): object | Problem {
  const item: unknown = normalizeDates(returned, collection.dateTimes)
  if (!isObject(item)) {
    throw new TypeError(`${source} of the collection ${collection.name} returned no item. ` +
      'Return the item to write.')
  }
  const valid = validateItem(collection.validate.returned, item)
  if (valid instanceof Problem) return valid
  if (id !== undefined && item[collection.id.property] !== id) {
    throw new TypeError(`${source} of the collection ${collection.name} changed the id. ` +
      'Return the item with the id that it has.')
  }
  return item
}
