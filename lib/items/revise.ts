import type { Collection } from '../collection.ts'
import { cloneJson, isObject } from '../http/json-value.ts'
import { Problem } from '../http/problems.ts'
import type { Call } from '../request/request.ts'
import { carryOver } from '../schema/carry-over.ts'
import { normalizeDates } from '../schema/date-times.ts'
import { findChanges, fillDefaults } from '../schema/annotations.ts'
import type { Annotation } from '../schema/properties.ts'
import { removeSecrets } from '../schema/secrets.ts'
import { checkScope, keepScopeValues } from '../access/scope.ts'
import type { Entry, Id } from '../storage/contract.ts'
import { getNextTimestamp } from './timestamps.ts'
import { checkReturned, prepareItem } from './prepare.ts'
import { checkUriValues, validateItem, validationProblem, withDefaults } from './validation.ts'
import { listFailures } from '../schema/failures.ts'

// The item that a PUT or a PATCH writes in place of another, or 422.

/**
 * The item to write, or a problem. It is a promise only if `hooks.beforeValidation` runs: async functions all the way
 * would slow down every PATCH.
 */
export type Decision = object | Problem | Promise<object | Problem>

/** Builds the item that a PUT writes. Properties that the client cannot send or cannot see keep their values. */
export function buildReplacement (
  collection: Collection,
  request: Call,
  { content: sent, before }: { content: unknown, before: Entry<object> }
): Decision {
  const { properties, dateTimes } = collection
  const content = normalizeDates(sent, dateTimes)
  // Assigned, because a computed name in an object literal is slower.
  const uriValues: Record<string, Id> = {}
  uriValues[collection.id.property] = before.id
  if (request.fixed !== undefined) Object.assign(uriValues, request.fixed)
  const contradiction = checkUriValues(content, uriValues)
  if (contradiction !== undefined) return contradiction
  const known = request.scope === undefined
    ? uriValues
    : { ...keepScopeValues(request.scope, before.item), ...uriValues }
  const carried = carryOver(withDefaults(removeSecrets(content, properties), known), before.item, properties)
  const item = normalizeDates(fillDefaults(carried, properties), dateTimes)
  return revise(collection, { action: 'replace', item, before, request })
}

/** Builds the item that a PATCH writes. `result` is the current item after the patch. */
export function buildUpdate (
  collection: Collection,
  request: Call,
  { result: patched, before }: { result: unknown, before: Entry<object> }
): Decision {
  const result = normalizeDates(patched, collection.dateTimes)
  const failed = checkUnchanged(collection, { before: before.item, after: result, mark: 'readOnly' }) ??
    (request.fixed && checkUriValues(result, request.fixed, 'complete'))
  if (failed !== undefined) return failed
  return revise(collection, { action: 'update', item: result, before, request })
}

interface ActionReturn {
  /** What the app has returned. */
  readonly returned: unknown
  readonly before: Entry<object>
  /** What has returned it, for errors. */
  readonly source: string
}

/** Builds the item that a custom action writes. The app decides, so it can set properties that are `readOnly`. */
export function buildActionResult (
  collection: Collection,
  request: Call,
  { returned, before, source }: ActionReturn
): Decision {
  const { timestamps: { created, updated }, hooks } = collection
  // The app may keep what it returned.
  const item: unknown = isObject(returned) ? { ...returned } : returned
  if (isObject(item)) {
    if (created !== undefined) item[created] = Reflect.get(before.item, created)
    if (updated !== undefined) item[updated] = getNextTimestamp(Reflect.get(before.item, updated))
  }
  const checked = checkReturned(collection, item, { source, id: before.id })
  const failed = checked instanceof Problem
    ? checked
    : request.fixed && checkUriValues(checked, request.fixed, 'complete')
  if (failed !== undefined) return failed
  if (hooks.beforeValidation === undefined) return checkResult(checked, request)
  const { customAction, caller, original } = request
  const change = {
    action: 'update',
    customAction,
    item: checked,
    before: before.item,
    caller,
    request: original
  } as const
  return prepareItem(collection, change, before.id).then((prepared) => checkResult(prepared, request))
}

interface Revision {
  readonly action: 'replace' | 'update'
  readonly item: unknown
  readonly before: Entry<object>
  readonly request: Call
}

/** Validates the item, sets `updatedAt` and calls `hooks.beforeValidation`. */
function revise (collection: Collection, { action, item, before, request }: Revision): Decision {
  const valid = validateItem(collection.validate.draft, item)
  if (valid instanceof Problem) return valid
  const changed = checkUnchanged(collection, { before: before.item, after: valid, mark: 'immutable' })
  if (changed !== undefined) return changed
  const { updated } = collection.timestamps
  const whole = updated === undefined
    ? valid
    : { ...valid, [updated]: getNextTimestamp(Reflect.get(before.item, updated)) }
  if (collection.hooks.beforeValidation === undefined) return checkResult(validateComplete(collection, whole), request)
  const change = {
    action,
    customAction: request.customAction,
    // The hook may change its argument, which shares objects with the stored item.
    item: cloneJson(whole),
    before: before.item,
    caller: request.caller,
    request: request.original
  }
  return prepareItem(collection, change, before.id).then((prepared) => checkResult(prepared, request))
}

function checkResult (item: object | Problem, { scope }: Call): object | Problem {
  if (item instanceof Problem || scope === undefined) return item
  return checkScope(item, scope) ?? item
}

/** Validates an item in which the server has set its values, if there is no `hooks.beforeValidation`. */
export function validateComplete ({ validate }: Collection, item: object): object | Problem {
  return validate.item === validate.draft ? item : validateItem(validate.item, item)
}

/** 422 if the write changes a property that is `readOnly` or `immutable`. */
function checkUnchanged (
  collection: Collection,
  { before, after, mark }: { before: object, after: unknown, mark: Annotation }
): Problem | undefined {
  const { properties, dateTimes } = collection
  let paths = isObject(after) ? findChanges(before, after, properties, mark) : []
  // The date-times of the stored item may not be normalized: other programs write to the database as well.
  if (paths.length > 0 && dateTimes !== undefined) {
    paths = findChanges(normalizeDates(before, dateTimes), after, properties, mark)
  }
  if (paths.length === 0) return undefined
  const message = mark === 'readOnly' ? 'is read-only' : 'cannot be changed once it is set'
  return validationProblem(listFailures(paths, message))
}
