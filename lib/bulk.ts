import type { Result } from './action.ts'
import type { Answer } from './answer.ts'
import type { Collection } from './definition.ts'
import { pointer } from './http/json-pointer.ts'
import { Problem, problem } from './http/problems.ts'
import { notifyChange } from './items/commit.ts'
import { buildNewItem } from './items/create.ts'
import { runTransaction } from './items/transaction.ts'
import { isRefusal, problemOfRefusal } from './refusal.ts'
import { representList } from './representation.ts'
import type { Request } from './request.ts'
import type { Failure } from './schema/failures.ts'
import type { Entry, Refusal } from './storage/contract.ts'
import { renderWritten } from './written.ts'

/** A POST of an array: creates all of its items, or none. */
export async function createAll (collection: Collection, request: Request, contents: readonly unknown[]): Promise<Result> {
  const items = await buildNewItems(collection, request, contents)
  if (items instanceof Problem) return items
  const entries = await insertAll(collection, request, items)
  if (entries instanceof Problem) return entries
  if (collection.hooks.changed) {
    for (const { item } of entries) await notifyChange(collection, { action: 'create', before: undefined, after: item, request: request.original })
  }
  return respond(collection, request, entries)
}

function respond (collection: Collection, request: Request, entries: ReadonlyArray<Entry<object>>): Answer {
  const { format, path, preferences } = request
  if (preferences.return === 'minimal') return { status: 201, fields: {}, content: undefined, applied: { return: 'minimal' } }
  const content = renderWritten(request, () => representList(collection, entries, { format, path, links: () => ({ self: { href: path } }), view: undefined }))
  if (content === undefined) return { status: 201, fields: {}, content }
  return { status: 201, fields: { 'content-type': format.mediaType }, content, ...preferences.return && { applied: { return: 'representation' } } }
}

/** 422 reports the failures of every item, each with its index. */
async function buildNewItems (collection: Collection, request: Request, contents: readonly unknown[]): Promise<object[] | Problem> {
  const { maximum } = collection.bulk!
  if (contents.length === 0 || contents.length > maximum) {
    return problem('invalid', { detail: `The array has to have from 1 to ${maximum} items.`, members: { errors: [{ pointer: '', message: `must have from 1 to ${maximum} items` }] } })
  }
  const items: object[] = []
  const failures: Failure[] = []
  for (const [index, content] of contents.entries()) {
    const item = await buildNewItem(collection, request, { content })
    if (!(item instanceof Problem)) items.push(item)
    else if (item.name === 'invalid') failures.push(...getFailures(item, index))
    else return item
  }
  return failures.length === 0 ? items : problem('invalid', { detail: 'None of the items was made.', members: { errors: failures } })
}

async function insertAll (collection: Collection, request: Request, items: readonly object[]): Promise<Array<Entry<object>> | Problem> {
  const inserted = await runTransaction(collection, request, async (storage) => {
    const entries: Array<Entry<object>> = []
    for (const [index, item] of items.entries()) {
      const entry = await storage.insert(item, request.context)
      if (isRefusal(entry)) return toProblemOfItem(entry, index)
      entries.push(entry)
    }
    return await request.keep?.(storage, respond(collection, request, entries)) ?? entries
  })
  return isRefusal(inserted) ? toProblemOfAll(inserted) : inserted
}

function toProblemOfItem (refusal: Refusal, index: number): Problem {
  const refused = problemOfRefusal(refusal)
  const { status, name, detail } = refused
  return new Problem(status, name, { detail: `Item ${index}: ${detail} None of the items was made.`, members: { errors: getFailures(refused, index) } })
}

/** The commit was refused, which does not say for which item. */
function toProblemOfAll (refusal: Refusal): Problem {
  const { status, name, detail } = problemOfRefusal(refusal)
  const errors = refusal.refused === 'taken' ? [{ pointer: '', message: `${refusal.members.join(' and ')} is taken` }] : []
  return new Problem(status, name, { detail: `${detail} None of the items was made.`, ...errors.length > 0 && { members: { errors } } })
}

/** The failures of one item, with its index in their pointers. */
function getFailures ({ members }: Problem, index: number): Failure[] {
  return ((members?.errors ?? []) as Failure[]).map((failure) => ({ ...failure, pointer: pointer([String(index)]) + failure.pointer }))
}
