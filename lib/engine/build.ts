import { checkScope } from './access/scope.ts'
import { HookError } from '../errors/failure.ts'
import { toPointer } from '../http/json-pointer.ts'
import { cloneJson } from '../http/json-value.ts'
import { Problem } from '../http/problems.ts'
import { validationProblem } from '../schema/failures.ts'
import type { ItemType } from '../schema/item-type.ts'
import type { Entry, Id } from '../storage/contract.ts'
import type { Operation } from './operation.ts'
import { checkParent } from './parent.ts'
import type { OpenTransaction } from './transaction.ts'

// The item that a write stores: the draft from the content, the hook of the app, and the checks of the whole.

/** What an item is built from. */
export interface ItemSource {
  readonly kind: 'create' | 'replace' | 'update'
  /** The content of the request; for an update, the item after the patch. */
  readonly content: unknown
  /** Undefined for a new item. */
  readonly before?: Entry<object> | undefined
  /** The item that the content is compared with, if that is not the stored one. */
  readonly base?: object | undefined
  /** The id of a new item, if the URI or the app states it. */
  readonly id?: Id | undefined
  /** The transaction that is open, if the operation has begun one. */
  readonly transaction?: OpenTransaction | undefined
}

/** The item to write. The object distinguishes it from a problem. */
interface BuiltItem {
  readonly item: object
}

/** Builds the item that a write stores. Returns 422 if the content is invalid. */
export async function buildItem (
  operation: Operation,
  { kind, content, before, base = before?.item, id = before?.id, transaction }: ItemSource
): Promise<BuiltItem | Problem> {
  const { collection: { attached: { parent }, hooks }, fixed, scope, view: { type } } = operation
  const drafted = type.draft({ kind, content, base, id, fixed, scope: scope?.values })
  if (drafted instanceof Problem) return drafted
  // The hook gets valid content, such as a password that it hashes.
  const draft = type.refinement !== undefined && hooks.beforeValidation !== undefined
    ? await type.refine(drafted, { isDraft: true, id, fixed })
    : drafted
  if (draft instanceof Problem) return draft
  const draftId: unknown = Reflect.get(draft, type.id.property)
  const complete = hooks.beforeValidation === undefined
    ? type.complete(draft)
    : await callBeforeValidation(operation, { action: kind, item: draft, before, id })
  if (complete instanceof Problem) return complete
  const refined = type.refine(complete, { id, fixed })
  const item = refined instanceof Promise ? await refined : refined
  if (item instanceof Problem) return item
  return (before === undefined ? checkAddress(type, item, draftId) : undefined) ??
    (scope && checkScope(item, scope, type.hidden)) ??
    // The hook may have changed them.
    (fixed && type.checkFixed(item, fixed)) ??
    (parent && await checkParent(operation, { item, before, transaction })) ??
    { item }
}

interface ActionReturn {
  /** What the app has returned. */
  readonly returned: unknown
  readonly before: Entry<object>
  /** What has returned it, for errors. */
  readonly source: string
  readonly transaction: OpenTransaction | undefined
}

/** Builds the item that a custom action writes. The app decides, so it can set properties that are `readOnly`. */
export async function buildReturnedItem (
  operation: Operation,
  { returned, before, source, transaction }: ActionReturn
): Promise<object | Problem> {
  const { collection: { hooks }, fixed, scope, view: { type } } = operation
  const accepted = type.acceptChanged(returned, before.item, { source, id: before.id })
  if (accepted instanceof Problem) return accepted
  const failed = fixed && type.checkFixed(accepted, fixed)
  if (failed !== undefined) return failed
  const complete = hooks.beforeValidation === undefined
    ? accepted
    : await callBeforeValidation(operation, { action: 'update', item: accepted, before, id: before.id })
  if (complete instanceof Problem) return complete
  const item = await type.refine(complete, { id: before.id, fixed })
  if (item instanceof Problem) return item
  return (scope && checkScope(item, scope, type.hidden)) ??
    (fixed && type.checkFixed(item, fixed)) ??
    await checkParent(operation, { item, before, transaction }) ??
    item
}

interface ProposedItem {
  readonly action: 'create' | 'replace' | 'update'
  readonly item: object
  readonly before: Entry<object> | undefined
  /** The id in the URI. */
  readonly id: Id | undefined
}

/** Calls `hooks.beforeValidation`, and validates the item that it returns, or has changed. */
async function callBeforeValidation (
  { collection: { hooks }, view: { type }, scope, fixed, customAction, caller, initiator, request }: Operation,
  { action, item: proposed, before, id }: ProposedItem
): Promise<object | Problem> {
  // The hook may change what it gets. Only the item has an effect.
  const item = cloneJson(proposed)
  let returned: unknown
  try {
    returned = await hooks.beforeValidation!({
      action,
      customAction,
      item,
      before: cloneJson(before?.item),
      imposed: before === undefined ? cloneJson({ ...scope?.values, ...fixed }) : {},
      caller,
      initiator,
      request
    })
  } catch (error) {
    // It goes to the error handler unchanged, and refuses the write with its own message.
    throw new HookError(error)
  }
  if (returned instanceof Problem) return returned
  return type.accept(returned === undefined ? item : returned, { source: 'The hook beforeValidation', id })
}

/** An id that the library has not generated must be one that a URI can contain, or no client could reach the item. */
function checkAddress (type: ItemType, item: object, draftId: unknown): Problem | undefined {
  const { property, generate, read } = type.id
  const id: unknown = Reflect.get(item, property)
  if ((id === draftId && generate !== 'client') || read(String(id)) === id) return undefined
  return validationProblem([{ pointer: toPointer([property]), message: 'cannot be part of a URI' }])
}
