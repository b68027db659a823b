import { setTimeout as wait } from 'node:timers/promises'
import { isObject } from '../http/json-value.ts'
import { Problem, problem } from '../http/problems.ts'
import { toIncomparableProblem } from './entries.ts'
import { estimateLength } from '../query/page-length.ts'
import { toStorageQuery } from '../query/list-query.ts'
import type { ListQuery } from '../query/list-query.ts'
import { logUnreadable } from '../query/unreadable.ts'
import { isRefusal, omitHiddenNames, refusalToProblem } from './refusal.ts'
import { validationProblem } from '../schema/failures.ts'
import type { Context, Entry, Id, Page, Query, Refusal, Storage } from '../storage/contract.ts'
import { isEmptyFilter } from '../storage/filter.ts'
import { buildItem } from './build.ts'
import { changeOperation } from './operation.ts'
import type { ChangeRefusal, ItemChange, Operation, Outcome, Run, WriteMany } from './operation.ts'
import { applyPatch } from './patch.ts'
import type { OpenTransaction, Work } from './transaction.ts'
import { endsTurn, yieldTurn } from './turns.ts'
import { maxAttempts, notifyChanges, runTransaction, storeChanges, toChange } from './write.ts'
import type { Decision } from './write.ts'

// Writes to all items that match a filter: they are found and locked, then written by their ids and versions, in one
// transaction. Only bulk() loads this file.

/** In characters of all items that one write changes. Otherwise a patch of 1 MB would make items of 1 GB. */
const maxLength = 8_388_608

/** Decides what to write to one of the items. */
type DecideEach = (
  before: Entry<object>,
  transaction: OpenTransaction | undefined
) => Promise<Decision | Problem>

/** Changes all items that match, with one merge patch. */
export function createUpdateMany (maximum: number): Run {
  return async (operation) => {
    // Parsed once: it is the same for all items.
    const content = operation.content()
    if (content instanceof Problem) return content
    if (!isObject(content.value)) return validationProblem([{ pointer: '', message: 'must be object' }])
    const { type } = operation.view
    const patched = changeOperation(operation, { patch: (item) => applyPatch(type, item, content.value) })
    return writeMatching(patched, maximum, async (before, transaction) => {
      const changed = patched.steps.content(patched, before)
      if (changed instanceof Problem) return changed
      const { value, base } = changed
      return buildItem(patched, { kind: 'update', content: value, before, base, id: before.id, transaction })
    })
  }
}

/** Removes all items that match. */
export function createRemoveMany (maximum: number): Run {
  return (operation) => writeMatching(operation, maximum, async () => ({ remove: true }))
}

async function writeMatching (
  operation: Operation,
  maximum: number,
  decide: DecideEach
): Promise<Outcome | Problem> {
  const query = readQuery(operation, maximum)
  if (query instanceof Problem) return query
  const { collection, storage: ownStorage, transaction: joined } = operation
  // No transaction is open while `hooks.beforeValidation` or a refinement runs: they may use the same connection.
  const callsApp = collection.hooks.beforeValidation !== undefined ||
    (operation.action.takesPatch && operation.view.type.refinement?.callsApp === true)
  const isInside = joined !== undefined || !callsApp
  // Items can be moved to another parent, which is read in the same transaction.
  const readsParent = collection.attached.parent !== undefined && !operation.isApp && operation.fixed === undefined
  let changes: ItemChange[] = []
  let written: ReadonlyArray<Entry<object> | undefined> = []

  const attempt: Work<Outcome> = async (storage, transaction) => {
    changes = []
    let length = 0
    const found = await findMatching(operation, { storage, query, isLocked: isInside })
    if (found instanceof Problem) return found
    for (const [index, entry] of found.entries()) {
      joined?.checkListed(collection, entry.id, entry)
      const decision = await decide(entry, transaction)
      if (decision instanceof Problem) return nameItem(decision, entry.id)
      const change = toChange(operation, entry, decision)
      if (change !== undefined) changes.push(change)
      const itemLength = change?.item === undefined ? 0 : estimateLength(change.item)
      length += itemLength
      if (length > maxLength) return tooLong()
      if (endsTurn(index, itemLength)) await yieldTurn(operation.progress)
    }
    const writing = changeOperation(operation, { writeMany: createWriteMany(operation) })
    return storeChanges(writing, {
      changes,
      toOutcome (entries) {
        written = entries
        return { kind: 'matched', ids: found.map(({ id }) => id) }
      },
      inside: isInside ? { storage, transaction, isInTransaction: true } : undefined
    })
  }

  for (let attempts = 1; ; attempts++) {
    const result = isInside
      ? await runTransaction(operation, attempt, readsParent ? true : undefined)
      : await attempt(ownStorage, undefined)
    if (result instanceof Problem) return result
    if (!isRefusal(result)) {
      await notifyChanges(operation, changes.map((change, index) => ({ ...change, after: written[index] })))
      return result
    }
    const refused = toManyProblem(omitHiddenNames(result, operation.view.type.hidden), changes)
    if (attempts === maxAttempts || !isRace(result)) return refused
    if (joined !== undefined) throw joined.loseRace(refused)
    await wait(Math.random() * attempts)
  }
}

/** The filter and the search of a list. What only concerns the pages of a list is refused. */
function readQuery (operation: Operation, maximum: number): Query | Problem {
  const { lists, view: { type } } = operation
  const listQuery = operation.query()
  if (listQuery instanceof Problem) return listQuery
  const parameter = findPageParameter(listQuery)
  if (parameter !== undefined) {
    return problem('invalid-query', {
      detail: `The query parameter "${parameter}" is for lists. A write to several items takes only conditions.`,
      properties: { parameter }
    })
  }
  const { filter, search } = listQuery
  if (search === undefined && (filter === undefined || isEmptyFilter(filter))) {
    return problem('invalid-query', {
      detail: 'A write to several items needs a condition, such as id.in=1,2. It would write to all items otherwise.'
    })
  }
  // All transactions lock items in the same order.
  const order = [{ property: type.id.property, descending: false }]
  return toStorageQuery(lists, { ...filter && { filter }, ...search && { search }, order, limit: maximum })
}

function findPageParameter (listQuery: ListQuery): string | undefined {
  const { limit, cursor, order, fields, offset, features = {}, expand, count } = listQuery
  const given = { limit, cursor, sort: order, fields, offset, ...features, expand, count }
  return Object.entries(given).find(([, value]) => value !== undefined)?.[0]
}

interface FindOptions {
  readonly storage: Storage<object>
  readonly query: Query
  readonly isLocked: boolean
}

async function findMatching (
  operation: Operation,
  { storage, query, isLocked }: FindOptions
): Promise<ReadonlyArray<Entry<object>> | Problem> {
  let page: Page<object>
  try {
    page = await storage.list(isLocked ? { ...query, lock: true } : query, operation.context)
  } catch (error) {
    return toIncomparableProblem(error)
  }
  logUnreadable(operation.collection.name, page, operation)
  if (!page.more) return page.entries
  return problem('too-many-matches', {
    detail: `More than ${query.limit} items match, and nothing was changed. Add conditions, and repeat the request.`,
    properties: { maximum: query.limit }
  })
}

function tooLong (): Problem {
  return problem('too-many-matches', {
    detail: `The changed items are longer than ${maxLength} characters, and nothing was changed. ` +
      'Add conditions, and repeat the request.'
  })
}

/** Returns a function that writes changes with the methods of the storage for several items, if it has them. */
export function createWriteMany ({ context, progress }: Operation): WriteMany {
  return async (changes, { storage, isInTransaction }) => {
    const write = isInTransaction && changes.length > 1 ? findMethod(storage, changes, context) : undefined
    if (write === undefined) return undefined
    progress?.check()
    const result = await write()
    if (result === undefined) return changes.map(() => undefined)
    // Item by item, the storage says which one it refuses.
    return isRefusal(result) && !isRace(result) ? undefined : result
  }
}

type Entries = ReadonlyArray<Entry<object>>

/** Returns the call that writes all changes, which are of one kind. */
function findMethod (
  storage: Storage<object>,
  changes: readonly ItemChange[],
  context: Context
): (() => Promise<Entries | Refusal | undefined>) | undefined {
  const [{ action } = { action: undefined }] = changes
  if (action === 'create') {
    return storage.insertMany && (() => storage.insertMany!(changes.map(({ item }) => item!), context))
  }
  if (action === 'remove') {
    return storage.removeMany && (() => storage.removeMany!(changes.map(({ before }) => before!), context))
  }
  const replacements = () => changes.map(({ before, item }) => ({ before: before!, item: item! }))
  return storage.replaceMany && (() => storage.replaceMany!(replacements(), context))
}

function isRace ({ refused }: Refusal): boolean {
  return refused === 'stale' || refused === 'not-found'
}

/** Nothing was written because of this item. */
function nameItem ({ status, name, detail, headers, properties }: Problem, id: Id): Problem {
  const sentence = detail === undefined ? '' : ` ${detail}`
  return new Problem(status, name, {
    detail: `Item ${JSON.stringify(id)}:${sentence} Nothing was changed.`,
    ...headers && { headers },
    properties: { ...properties, item: id }
  })
}

/** If the storage refused the commit, it does not say for which item. */
function toManyProblem (refusal: ChangeRefusal, changes: readonly ItemChange[]): Problem {
  const { index } = refusal
  if (isRace(refusal)) {
    return problem('concurrent-update', {
      detail: 'One of the items was changed by other requests each time. Nothing was changed. Repeat the request.'
    })
  }
  const reason = refusalToProblem(refusal)
  const id = index === undefined ? undefined : changes[index]?.before?.id
  if (id !== undefined) return nameItem(reason, id)
  const { status, name, detail, properties } = reason
  return new Problem(status, name, {
    detail: `${detail} Nothing was changed.`,
    ...properties && { properties }
  })
}
