import type { Result } from '../action.ts'
import type { Response } from '../response/response.ts'
import { readContent } from '../request/content.ts'
import type { Collection } from '../collection.ts'
import { toPointer } from '../http/json-pointer.ts'
import { Problem, problem } from '../http/problems.ts'
import { notifyChange, runTransaction, writeInTransaction } from '../engine/commit.ts'
import { buildItem } from '../engine/build.ts'
import { isRefusal, refusalToProblem } from '../response/refusal.ts'
import { representList } from '../response/representation.ts'
import type { Request } from '../request/request.ts'
import { maxFailures } from '../schema/failures.ts'
import type { Failure } from '../schema/failures.ts'
import type { Entry, Refusal, Storage } from '../storage/contract.ts'
import { renderWritten } from '../response/write-response.ts'
import type { Contents } from '../openapi/contents.ts'
import type { Feature, OperationObject } from './feature.ts'

/** The options of `bulk()`. */
export interface BulkOptions {
  /**
   * How many items one request can create.
   *
   * @default 100
   * @example
   * bulk({ maximum: 500 })
   */
  maximum?: number
}

/**
 * POST accepts an array of items as well, and creates all of them or none.
 *
 * @example
 * define({ name: 'products', schema: Product, storage: sqlite(database) })
 *   .with(bulk({ maximum: 500 }))
 */
export function bulk (options: BulkOptions = {}): Feature<object> {
  return {
    name: 'bulk',
    inherited: true,
    setup (host) {
      host.checkOptions('bulk', options, ['maximum'])
      const { maximum = 100 } = options
      host.require('transactions', 'bulk creates all items of a request or none')
      if (!Number.isSafeInteger(maximum) || maximum < 1) {
        host.fail(`bulk: maximum is ${JSON.stringify(maximum)}. Make it a whole number of 1 or more.`)
      }
      host.wrapAction('transform', (next, { name }) => {
        if (name !== 'create') return next
        return async (collection, request) => {
          const content = readContent(collection, request)
          if (content instanceof Problem || !Array.isArray(content.value)) {
            return next(collection, { ...request, parsed: content })
          }
          return createAll(collection, request, { contents: content.value, maximum })
        }
      })
      host.describe((operation, { name }, { contents }) => {
        if (name === 'create') describeArrays(operation, contents, maximum)
      })
    }
  }
}

interface NewItems {
  readonly contents: readonly unknown[]
  readonly maximum: number
}

async function createAll (collection: Collection, request: Request, newItems: NewItems): Promise<Result> {
  const items = await buildNewItems(collection, request, newItems)
  if (items instanceof Problem) return items
  const entries = await insertAll(collection, request, items)
  if (entries instanceof Problem) return entries
  if (collection.hooks.afterCommit !== undefined) {
    for (const { item } of entries) {
      await notifyChange(collection, request, { action: 'create', before: undefined, after: item })
    }
  }
  return respond(collection, request, entries)
}

function respond (collection: Collection, request: Request, entries: ReadonlyArray<Entry<object>>): Response {
  const { format, path, preferences, presentation } = request
  if (preferences.return === 'minimal') {
    return { status: 201, fields: {}, content: undefined, applied: { return: 'minimal' } }
  }
  const links = () => ({ self: { href: path } })
  const content = renderWritten(collection, request, () => {
    return representList(presentation, entries, { format, path, links, selection: undefined })
  })
  if (content === undefined) return { status: 201, fields: {}, content }
  return {
    status: 201,
    fields: { 'content-type': format.mediaType },
    content,
    ...preferences.return && { applied: { return: 'representation' } }
  }
}

/** 422 reports the failures of all items, each with its index. It ends after as many as a problem lists. */
async function buildNewItems (
  collection: Collection,
  request: Request,
  { contents, maximum }: NewItems
): Promise<object[] | Problem> {
  if (contents.length === 0 || contents.length > maximum) {
    return problem('validation-failed', {
      detail: `The array must have from 1 to ${maximum} items.`,
      members: { errors: [{ pointer: '', message: `must have from 1 to ${maximum} items` }] }
    })
  }
  const items: object[] = []
  const failures: Failure[] = []
  for (const [index, content] of contents.entries()) {
    const item = await buildItem(collection, request, { kind: 'create', content })
    if (!(item instanceof Problem)) items.push(item)
    else if (item.name === 'validation-failed') failures.push(...getFailures(item, index))
    else return item
    if (failures.length >= maxFailures) break
  }
  if (failures.length === 0) return items
  const errors = failures.slice(0, maxFailures)
  return problem('validation-failed', { detail: 'No item was created.', members: { errors } })
}

async function insertAll (
  collection: Collection,
  request: Request,
  items: readonly object[]
): Promise<Array<Entry<object>> | Problem> {
  const write = (storage: Storage<object>, item: object) => storage.insert(item, request.context)
  const inserted = await runTransaction(collection, request, async (storage, transaction) => {
    const entries: Array<Entry<object>> = []
    for (const [index, item] of items.entries()) {
      const entry = await writeInTransaction(collection, request, {
        action: 'create',
        before: undefined,
        item,
        storage,
        transaction,
        write
      })
      if (entry instanceof Problem) return entry
      if (isRefusal(entry)) return toItemProblem(entry, index)
      entries.push(entry)
    }
    return await request.beforeCommit?.(storage, respond(collection, request, entries)) ?? entries
  })
  return isRefusal(inserted) ? toCommitProblem(inserted) : inserted
}

function toItemProblem (refusal: Refusal, index: number): Problem {
  const refused = refusalToProblem(refusal)
  const { status, name, detail } = refused
  return new Problem(status, name, {
    detail: `Item ${index}: ${detail} No item was created.`,
    members: { errors: getFailures(refused, index) }
  })
}

/** The storage refused the commit, which does not say for which item. */
function toCommitProblem (refusal: Refusal): Problem {
  const { status, name, detail } = refusalToProblem(refusal)
  const details = { detail: `${detail} No item was created.` }
  if (refusal.refused !== 'not-unique') return new Problem(status, name, details)
  const errors = [{ pointer: '', message: `${refusal.properties.join(' and ')} must be unique` }]
  return new Problem(status, name, { ...details, members: { errors } })
}

/** The failures of one item, with its index in their pointers. */
function getFailures ({ members }: Problem, index: number): Failure[] {
  const failures = (members?.errors ?? []) as Failure[]
  return failures.map((failure) => ({ ...failure, pointer: toPointer([String(index)]) + failure.pointer }))
}

/** Both the request and the response contain an item or an array of items. */
function describeArrays (operation: OperationObject, contents: Contents, maximum: number): void {
  operation.requestBody = { ...operation.requestBody, content: contents.representations(maximum) }
  const lists = contents.list()
  operation.responses[201]!.content = Object.fromEntries(Object.entries(contents.item()).map(([type, item]) => {
    // Not `oneOf`: in formats such as HTML, an item and a list have the same schema.
    return [type, { ...item, schema: { anyOf: [item.schema, lists[type]!.schema] } }]
  }))
}
