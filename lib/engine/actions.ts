import { toPointer } from '../http/json-pointer.ts'
import { Problem, problem } from '../http/problems.ts'
import { findEntries } from './entries.ts'
import { logUnreadable } from '../query/unreadable.ts'
import { isRefusal, omitHiddenNames, refusalToProblem } from './refusal.ts'
import { maxFailures } from '../schema/failures.ts'
import type { Failure } from '../schema/failures.ts'
import type { Entry } from '../storage/contract.ts'
import { buildItem } from './build.ts'
import { changeOperation } from './operation.ts'
import type {
  ChangeRefusal,
  Content,
  EntryOutcome,
  Find,
  ItemChange,
  Operation,
  Outcome,
  ReadContent,
  Run
} from './operation.ts'
import {
  explainMissing,
  isFinal,
  needsTransaction,
  notifyChanges,
  storeChanges,
  writeChanges,
  writeItem
} from './write.ts'
import type { Decision } from './write.ts'
import { endsTurn, yieldTurn } from './turns.ts'

// The six actions. Each returns an outcome, which the door renders, or a problem.

export const read: Run = async (operation) => {
  const { collection, id, storage, context, transaction } = operation
  const listQuery = operation.query()
  if (listQuery instanceof Problem) return listQuery
  const found = await operation.steps.find(operation, { id, storage, context })
  if (isFinal(found)) return found
  if (found === undefined) return problem('not-found')
  transaction?.deleteListed(collection, found.id)
  return { kind: 'entry', entry: found, created: false, listQuery }
}

export const list: Run = async (operation) => {
  const { collection, lists, storage, context, transaction } = operation
  const listQuery = operation.query()
  if (listQuery instanceof Problem) return listQuery
  const found = await findEntries(lists, listQuery, { storage, context })
  if (found instanceof Problem) return found
  const { page, query } = found
  logUnreadable(collection.name, page, operation)
  transaction?.addListed(collection, page.entries)
  return { kind: 'page', page, query, listQuery, lists }
}

/** Replaces an item, or creates it if the definition and the caller's rights allow that. */
export const replace: Run = (operation) => {
  const canCreate = operation.collection.put.create && operation.id !== undefined && operation.canCreate
  return writeItem(operation, 'before', (before) => {
    if (before === undefined && !canCreate) return Promise.resolve(problem('not-found'))
    return decideFromContent(operation, 'replace', before)
  })
}

export const update: Run = (operation) => {
  return writeItem(operation, 'before', (before) => {
    if (before === undefined) return Promise.resolve(problem('not-found'))
    return decideFromContent(operation, 'update', before)
  })
}

/** The preconditions come before the content is read: RFC 9110, section 13.2.1. */
function decideFromContent (
  operation: Operation,
  kind: 'replace' | 'update',
  before: Entry<object> | undefined
): Promise<Decision | Problem> {
  const content = operation.check?.(before) ?? operation.steps.content(operation, before)
  if (content instanceof Problem) return Promise.resolve(content)
  const { value, base } = content
  return buildItem(operation, {
    kind: before === undefined ? 'create' : kind,
    content: value,
    before,
    base,
    id: before?.id ?? operation.id
  })
}

export const remove: Run = async (operation) => {
  const { collection, id, storage, context, check, prefers, steps, transaction, progress, view } = operation
  const needsItem = check !== undefined ||
    prefers === 'representation' ||
    collection.hooks.afterCommit !== undefined ||
    steps.write !== innermost.write ||
    needsTransaction(operation) ||
    (id !== undefined && transaction?.hasListed(collection, id) === true)
  if (needsItem) {
    return writeItem(operation, 'before', async (before) => {
      if (before === undefined) return problem('not-found')
      return check?.(before) ?? { remove: true }
    })
  }
  // One statement. Only if there is no such item, the layers of features say why.
  if (id !== undefined) {
    const removeItem = () => storage.remove(id, undefined, context)
    const refusal = await (progress === undefined ? removeItem() : progress.write(removeItem))
    if (refusal === undefined) return { kind: 'removed', entry: undefined }
    if (refusal.refused !== 'not-found') return refusalToProblem(refusal, view.type.hidden)
  }
  return explainMissing(operation)
}

/** Creates one item, or those of an array that a feature has accepted: all of them or none. */
export const create: Run = async (operation) => {
  const content = operation.steps.content(operation, undefined)
  if (content instanceof Problem) return content
  if (content.isMany === true) return createMany(operation, content)
  const built = await buildItem(operation, { kind: 'create', content: content.value, id: operation.id })
  if (built instanceof Problem) return built
  const change: ItemChange = { action: 'create', before: undefined, item: built.item }
  const outcome = await storeChanges(operation, { changes: [change], toOutcome: toCreated })
  if (outcome instanceof Problem) return outcome
  if (isRefusal(outcome)) return refusalToProblem(outcome, operation.view.type.hidden)
  if (operation.collection.hooks.afterCommit === undefined) return outcome
  await notifyChanges(operation, [{ ...change, after: (outcome as EntryOutcome).entry }])
  return outcome
}

function toCreated (entries: ReadonlyArray<Entry<object> | undefined>): EntryOutcome {
  return { kind: 'entry', entry: entries[0]!, created: true }
}

/** 422 reports the failures of all items, each with its index. It ends after as many as a problem lists. */
async function createMany (operation: Operation, content: Content): Promise<Outcome | Problem> {
  const items: object[] = []
  const failures: Failure[] = []
  for (const [index, value] of (content.value as readonly unknown[]).entries()) {
    const built = await buildItem(operation, { kind: 'create', content: value, id: operation.ids?.[index] })
    if (!(built instanceof Problem)) items.push(built.item)
    else if (built.name === 'validation-failed') failures.push(...getFailures(built, index))
    else return built
    if (failures.length >= maxFailures) break
    if (endsTurn(index)) await yieldTurn(operation.progress)
  }
  if (failures.length > 0) {
    const errors = failures.slice(0, maxFailures)
    return problem('validation-failed', { detail: 'No item was created.', properties: { errors } })
  }
  const changes = items.map((item): ItemChange => ({ action: 'create', before: undefined, item }))
  const writeMany = operation.collection.attached.bulk.get('create')?.createWriteMany?.(operation)
  const writing = writeMany === undefined ? operation : changeOperation(operation, { writeMany })
  const outcome = await storeChanges(writing, {
    changes,
    toOutcome: (entries) => ({ kind: 'many', entries: entries as ReadonlyArray<Entry<object>> })
  })
  if (outcome instanceof Problem) return outcome
  if (isRefusal(outcome)) return toManyProblem(outcome, operation.view.type.hidden)
  const { entries } = outcome as Extract<Outcome, { kind: 'many' }>
  await notifyChanges(operation, changes.map((change, index) => ({ ...change, after: entries[index] })))
  return outcome
}

/** If the storage refused the commit, it does not say for which item. */
function toManyProblem (given: ChangeRefusal, hidden: ReadonlySet<string> | undefined): Problem {
  const refusal = omitHiddenNames(given, hidden)
  const refused = refusalToProblem(refusal)
  const { status, name, detail } = refused
  const { index, others = [] } = refusal
  if (index !== undefined) {
    const errors = [refusal, ...others].flatMap((one) => getFailures(refusalToProblem(one, hidden), one.index!))
    const reason = others.length === 0 ? `The item with the index ${index}: ${detail} ` : ''
    return new Problem(status, name, {
      detail: `${reason}No item was created.`,
      properties: { errors: errors.slice(0, maxFailures) }
    })
  }
  const details = { detail: `${detail} No item was created.` }
  const [failure] = (refused.properties?.errors ?? []) as Failure[]
  if (failure === undefined || !('properties' in refusal)) return new Problem(status, name, details)
  const errors = [{ pointer: '', message: `${refusal.properties.join(' and ')} ${failure.message}`.trim() }]
  return new Problem(status, name, { ...details, properties: { errors } })
}

/** The failures of one item, with its index in their pointers. */
function getFailures ({ properties }: Problem, index: number): Failure[] {
  const failures = (properties?.errors ?? []) as Failure[]
  return failures.map((failure) => ({ ...failure, pointer: toPointer([String(index)]) + failure.pointer }))
}

const findEntry: Find = (_operation, { id, storage, context, isMissing }) => {
  return id === undefined || isMissing === true ? Promise.resolve(undefined) : storage.find(id, context)
}

/** The representation, or the stored item after the patch. */
const readContent: ReadContent = (operation, before) => {
  const isPatch = operation.action.takesPatch && before !== undefined
  const content = isPatch ? operation.patch(before.item) : operation.content()
  return content instanceof Problem ? content : { value: content.value, base: before?.item }
}

/** What the layers of features are composed around. */
export const innermost = { find: findEntry, content: readContent, write: writeChanges }
