import { noContent } from './answer.ts'
import type { Answer } from './answer.ts'
import { check } from './conditions.ts'
import type { Collection } from './definition.ts'
import { problem } from './http/problems.ts'
import type { Problem } from './http/problems.ts'
import type { Changed } from './options.ts'
import { receipted } from './receipt.ts'
import { problemOfRefusal, refused } from './refusal.ts'
import type { Request } from './request.ts'
import type { Entry, Id, Refusal } from './storage/contract.ts'
import { Tries } from './tries.ts'

/** The id that the URI names; 404 where no item can have it. */
function identify (collection: Collection, request: Request): Id {
  const id = collection.id.read(request.segment)
  if (id === undefined) throw problem('absent')
  return id
}

/** What the storage has by the name that the URI gives. */
export function sought (collection: Collection, request: Request): Promise<Entry<object> | undefined> {
  return collection.storage.find(identify(collection, request), request.context)
}

/** 404 without it. */
function found (entry: Entry<object> | undefined): Entry<object> {
  if (entry === undefined) throw problem('absent')
  return entry
}

/** What an action decides of the item that the URI names. */
export interface Decisions {
  readonly action: 'replace' | 'update'
  /** What takes the place of the entry that is there. */
  revise (collection: Collection, request: Request, before: Entry<object>): object | Promise<object>
  /** What is put where no entry is; without it, that is 404. */
  create? (collection: Collection, request: Request, id: Id): object | Promise<object>
  answer (collection: Collection, request: Request, written: Written): Answer
}

/** What is there after a write, and what was there before it. */
interface Written {
  readonly before: Entry<object> | undefined
  readonly after: Entry<object>
}

/** Changes the item that the URI names, tells of it, and answers. */
export function write (collection: Collection, request: Request, decisions: Decisions): Promise<Answer> {
  return collection.hooks.changed ? told(collection, request, decisions) : tried(collection, request, { decisions, conclude: decisions.answer })
}

/** Whoever waits to write the item does not wait for the hook. */
async function told (collection: Collection, request: Request, decisions: Decisions): Promise<Answer> {
  const written = await tried(collection, request, { decisions, conclude: itself })
  const { before, after } = written
  await tell(collection, { action: before === undefined ? 'create' : decisions.action, before: before?.item, after: after.item, request: request.original })
  return decisions.answer(collection, request, written)
}

const itself = (_collection: Collection, _request: Request, written: Written): Written => written

interface Task<Result> {
  readonly decisions: Decisions
  readonly conclude: (collection: Collection, request: Request, written: Written) => Result
}

/** Reads, decides and writes; anew where another write came in between, so that the precondition is asked of what is there then. */
function tried<Result> (collection: Collection, request: Request, task: Task<Result>): Promise<Result> {
  const tries = new Tries<Result>(collection.storage, identify(collection, request), tries => attempt(collection, request, { task, tries }))
  return tries.first()
}

interface Attempt<Result> {
  readonly task: Task<Result>
  readonly tries: Tries<Result>
}

async function attempt<Result> (collection: Collection, request: Request, { task: { decisions, conclude }, tries }: Attempt<Result>): Promise<Result> {
  const { id } = tries
  const before = await collection.storage.find(id, request.context)
  if (before === undefined && decisions.create === undefined) throw problem('absent')
  check(collection, request, before)
  const decided = before === undefined ? decisions.create!(collection, request, id) : decisions.revise(collection, request, before)
  // Without the hook it is there at once, and nothing is waited for.
  const item = collection.hooks.prepare ? await decided : decided
  const after = await put(collection, request, { decisions, before, id, item })
  if (!refused(after)) return conclude(collection, request, { before, after })
  if (after.refused !== 'taken' || before !== undefined || after.members.join() !== collection.id.member) return tries.again(after)
  return tries.again(await hasMet(collection, request, tries) ? { refused: 'stale' } : after)
}

interface Put {
  readonly decisions: Decisions
  readonly before: Entry<object> | undefined
  readonly id: Id
  readonly item: object
}

function put (collection: Collection, request: Request, { decisions, before, id, item }: Put): Promise<Entry<object> | Refusal> {
  const { storage } = collection
  const { context } = request
  if (before === undefined) return storage.insert(item, context)
  if (request.keep === undefined) return storage.replace(id, item, before.version, context)
  return receipted(collection, request, { write: inner => inner.replace(id, item, before.version, context), answer: after => decisions.answer(collection, request, { before, after }) })
}

/**
 * Whether an id that is in use was a race, which is tried again: another PUT has created the item, or it was removed since. What the
 * caller still cannot see at the second time is out of its scope or under a tombstone, and it gets the same answer for either.
 */
async function hasMet<Result> ({ storage }: Collection, { context }: Request, tries: Tries<Result>): Promise<boolean> {
  return await storage.find(tries.id, context) !== undefined || ++tries.unseen === 1
}

/** Removes the entry that the URI names, whatever it is, and answers. */
export function discard (collection: Collection, request: Request): Promise<Answer | Problem> {
  return collection.storage.remove(identify(collection, request), undefined, request.context).then(gone)
}

function gone (refusal: Refusal | undefined): Answer | Problem {
  return refusal === undefined ? noContent() : problemOfRefusal(refusal)
}

/** Removes the entry that the URI names, and gives it. */
export function take (collection: Collection, request: Request): Promise<Entry<object>> {
  const { storage } = collection
  const id = identify(collection, request)
  return new Tries<Entry<object>>(storage, id, async tries => {
    const before = found(await storage.find(id, request.context))
    check(collection, request, before)
    const refusal = await storage.remove(id, before.version, request.context)
    return refusal === undefined ? before : tries.again(refusal)
  }).first()
}

/** Tells the definition of a write that is done; whatever comes of that, the write is done. */
export async function tell (collection: Collection, change: Changed<object>): Promise<void> {
  try {
    await collection.changed(change)
  } catch (err) {
    change.request.log.error({ err }, `the hook "changed" of the collection ${collection.name} failed after a ${change.action}`)
  }
}
