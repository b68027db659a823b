import type { Answer } from './answer.ts'
import type { Collection } from './definition.ts'
import { tell } from './entry.ts'
import { pointer } from './http/json-pointer.ts'
import { Problem, problem } from './http/problems.ts'
import { drafted } from './draft.ts'
import { transact } from './receipt.ts'
import { problemOfRefusal, refusalIn, refused } from './refusal.ts'
import { representList } from './representation.ts'
import type { Request } from './request.ts'
import type { Failure } from './schema/failures.ts'
import type { Entry, Refusal } from './storage/contract.ts'
import { renderWritten } from './written.ts'

/** New items out of an array: all of them, or none. */
export async function createAll (collection: Collection, request: Request, contents: readonly unknown[]): Promise<Answer> {
  const items = await draftedAll(collection, request, contents)
  const entries = await insertedAll(collection, request, items)
  if (collection.hooks.changed) for (const entry of entries) await tell(collection, { action: 'create', before: undefined, after: entry.item, request: request.original })
  return answered(collection, request, entries)
}

function answered (collection: Collection, request: Request, entries: ReadonlyArray<Entry<object>>): Answer {
  const { format, path, preferences } = request
  if (preferences.return === 'minimal') return { status: 201, fields: {}, content: undefined, applied: { return: 'minimal' } }
  const content = renderWritten(request, () => representList(collection, entries, { format, path, links: () => ({ self: { href: path } }), view: undefined }))
  if (content === undefined) return { status: 201, fields: {}, content }
  return { status: 201, fields: { 'content-type': format.mediaType }, content, ...preferences.return && { applied: { return: 'representation' } } }
}

/** 422 tells of every item what does not fit, each by its place in the array. */
async function draftedAll (collection: Collection, request: Request, contents: readonly unknown[]): Promise<object[]> {
  const { maximum } = collection.bulk!
  if (contents.length === 0 || contents.length > maximum) throw problem('invalid', { detail: `The array has to have from 1 to ${maximum} items.`, members: { errors: [{ pointer: '', message: `must have from 1 to ${maximum} items` }] } })
  const items: object[] = []
  const failures: Failure[] = []
  for (const [index, content] of contents.entries()) {
    try {
      items.push(await drafted(collection, request, { content }))
    } catch (thrown) {
      if (!(thrown instanceof Problem) || thrown.name !== 'invalid') throw thrown
      failures.push(...failuresOf(thrown, index))
    }
  }
  if (failures.length > 0) throw problem('invalid', { detail: 'None of the items was made.', members: { errors: failures } })
  return items
}

async function insertedAll (collection: Collection, request: Request, items: readonly object[]): Promise<Array<Entry<object>>> {
  try {
    return await insertedTogether(collection, request, items)
  } catch (thrown) {
    const refusal = refusalIn(thrown)
    if (refusal === undefined) throw thrown
    throw problemOfAll(refusal)
  }
}

/** Of all the items together it is not known which one was refused. */
function problemOfAll (refusal: Refusal): Problem {
  const { status, name, detail } = problemOfRefusal(refusal)
  const errors = refusal.refused === 'taken' ? [{ pointer: '', message: `${refusal.members.join(' and ')} is taken` }] : []
  return new Problem(status, name, { detail: `${detail} None of the items was made.`, ...errors.length > 0 && { members: { errors } } })
}

function insertedTogether (collection: Collection, request: Request, items: readonly object[]): Promise<Array<Entry<object>>> {
  return transact(collection, request, async storage => {
    const entries: Array<Entry<object>> = []
    for (const [index, item] of items.entries()) {
      const entry = await storage.insert(item, request.context)
      if (refused(entry)) {
        const refusal = problemOfRefusal(entry)
        throw new Problem(refusal.status, refusal.name, { detail: `Item ${index}: ${refusal.detail} None of the items was made.`, members: { errors: failuresOf(refusal, index) } })
      }
      entries.push(entry)
    }
    await request.keep?.(storage, answered(collection, request, entries))
    return entries
  })
}

/** What a problem of one item says, by the place of the item. */
function failuresOf ({ members }: Problem, index: number): Failure[] {
  return ((members?.errors ?? []) as Failure[]).map(failure => ({ ...failure, pointer: pointer([String(index)]) + failure.pointer }))
}
