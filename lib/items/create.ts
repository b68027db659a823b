import type { Collection } from '../collection.ts'
import { toPointer } from '../http/json-pointer.ts'
import { isEqual, isObject } from '../http/json-value.ts'
import { Problem } from '../http/problems.ts'
import type { Call } from '../request/request.ts'
import { normalizeDates } from '../schema/date-times.ts'
import { fillDefaults, omitAnnotated } from '../schema/annotations.ts'
import { checkScope } from '../access/scope.ts'
import type { Id } from '../storage/contract.ts'
import { getTimestamp } from './timestamps.ts'
import { prepareItem } from './prepare.ts'
import { validateComplete } from './revise.ts'
import type { Decision } from './revise.ts'
import { checkUriValues, validateItem, validationProblem, withDefaults } from './validation.ts'

/** What a new item is built from. */
interface NewContent {
  readonly content: unknown
  /** The id in the URI. */
  readonly id?: Id | undefined
}

/** Builds the item that a POST, or a PUT that creates, writes. Returns 422 if the content is invalid. */
export function buildNewItem (
  collection: Collection,
  request: Call,
  { content: sent, id }: NewContent
): Decision {
  const { properties, dateTimes, timestamps: { created, updated } } = collection
  const content = normalizeDates(sent, dateTimes)
  const contradiction = checkNewValues(collection, request, { content, id })
  if (contradiction !== undefined) return contradiction

  // If neither the URI nor the library sets the id, the client or the storage does.
  const ownId = id ?? collection.id.create?.()
  const known: Record<string, unknown> = { ...request.scope?.values }
  if (ownId !== undefined) known[collection.id.property] = ownId
  if (request.fixed !== undefined) Object.assign(known, request.fixed)
  const sentAndKnown = withDefaults(omitAnnotated(content, properties, 'readOnly'), known)
  const draft = normalizeDates(fillDefaults(sentAndKnown, properties), dateTimes)
  const valid = validateItem(collection.validate.draft, draft)
  if (valid instanceof Problem) return valid

  // The item was parsed from this request, so no other code refers to it.
  const item = valid as Record<string, unknown>
  const now = getTimestamp()
  if (created !== undefined) item[created] = now
  if (updated !== undefined) item[updated] = now
  if (collection.hooks.beforeValidation === undefined) {
    return checkNewItem(collection, request, { item: validateComplete(collection, item), ownId })
  }
  return prepareNewItem(collection, request, { item, id })
    .then((prepared) => checkNewItem(collection, request, { item: prepared, ownId }))
}

function checkNewItem (
  collection: Collection,
  { scope }: Call,
  { item, ownId }: { item: object | Problem, ownId: Id | undefined }
): object | Problem {
  if (item instanceof Problem) return item
  return checkAddress(collection, item, ownId) ?? (scope && checkScope(item, scope)) ?? item
}

function checkNewValues (
  collection: Collection,
  { fixed, scope }: Call,
  { content, id }: NewContent
): Problem | undefined {
  return (fixed && checkUriValues(content, fixed)) ??
    (id === undefined ? undefined : checkUriValues(content, { [collection.id.property]: id })) ??
    (scope && checkScopeValues(content, scope.values))
}

/** The content may repeat the values that the scope sets, but not contradict them. */
function checkScopeValues (content: unknown, values: Readonly<Record<string, unknown>>): Problem | undefined {
  if (!isObject(content)) return undefined
  const wrong = Object.keys(values).filter((property) => {
    return Object.hasOwn(content, property) && !isEqual(content[property], values[property])
  })
  if (wrong.length === 0) return undefined
  return validationProblem(wrong.map((property) => ({
    pointer: toPointer([property]),
    message: `must be ${JSON.stringify(values[property])}, or be left out`
  })))
}

/** By new item: the values that the scope of the caller and the URI have set in it. */
const imposedValues = new WeakMap<object, Readonly<Record<string, unknown>>>()

/** Returns the values that no client can choose, of an item that `hooks.beforeValidation` gets. */
export function getImposedValues (item: object): Readonly<Record<string, unknown>> {
  return imposedValues.get(item) ?? {}
}

async function prepareNewItem (
  collection: Collection,
  { scope, fixed, customAction, caller, original }: Call,
  { item, id }: { item: object, id: Id | undefined }
): Promise<object | Problem> {
  if (scope !== undefined || fixed !== undefined) imposedValues.set(item, { ...scope?.values, ...fixed })
  const change = { action: 'create', customAction, item, before: undefined, caller, request: original } as const
  return prepareItem(collection, change, id)
}

/** An id that the library has not generated must be one that a URI can contain, or no client could reach the item. */
function checkAddress (collection: Collection, item: object, ownId: Id | undefined): Problem | undefined {
  const { property, read } = collection.id
  const id: unknown = Reflect.get(item, property)
  if (id === ownId || read(String(id)) === id) return undefined
  return validationProblem([{ pointer: toPointer([property]), message: 'cannot be part of a URI' }])
}
