import { setTimeout as wait } from 'node:timers/promises'
import { check } from './conditions.ts'
import type { Collection } from './definition.ts'
import { conditional } from './http/preconditions.ts'
import { problem } from './http/problems.ts'
import { scopedBy } from './narrowing.ts'
import type { Changed } from './options.ts'
import { receipted } from './receipt.ts'
import type { Answering } from './receipt.ts'
import { problemOfRefusal, refused } from './refusal.ts'
import type { Request } from './request.ts'
import { isHidden } from './scope.ts'
import type { Entry, Id, Refusal, Storage } from './storage/contract.ts'
import { contended, inTurn } from './turns.ts'

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
export function found (entry: Entry<object> | undefined): Entry<object> {
  if (entry === undefined) throw problem('absent')
  return entry
}

interface Decisions {
  /** What takes the place of the entry that is there. */
  readonly revise: (before: Entry<object>) => object | Promise<object>
  /** What is put where no entry is; without it, that is 404. */
  readonly create?: ((id: Id) => object | Promise<object>) | undefined
  /** Of an action whose requests can be repeated. */
  readonly answer?: Answering
}

/** Reads, decides and writes; anew where another write came in between, so that the precondition is asked of what is there then. */
export async function write (collection: Collection, request: Request, { revise, create, answer }: Decisions): Promise<{ before: Entry<object> | undefined, after: Entry<object> }> {
  const { storage, id: { member } } = collection
  const id = identify(collection, request)
  return persist([storage, id], async () => {
    const before = await storage.find(id, request.context)
    if (before === undefined && create === undefined) throw problem('absent')
    check(collection, request, before)
    const item = before === undefined ? await create!(id) : await revise(before)
    const after = await (before === undefined
      ? storage.insert(item, request.context)
      : request.keep === undefined || answer === undefined
        ? storage.replace(id, item, before.version, request.context)
        : receipted(collection, request, { write: inner => inner.replace(id, item, before.version, request.context), answer }))
    if (!refused(after)) return { before, after }
    if (after.refused !== 'taken' || before !== undefined || after.members.join() !== member) return after
    // To find the id taken is to have met another PUT that created, unless it is out of sight.
    const there = await storage.find(id, scopedBy(undefined, request.context))
    return isHidden(there?.item, request.context.scope) ? after : { refused: 'stale' }
  })
}

/** Removes the entry that the URI names, and gives it where somebody wants to know it. */
export async function take (collection: Collection, request: Request, wanted: boolean): Promise<Entry<object> | undefined> {
  const { storage, precondition } = collection
  const id = identify(collection, request)
  if (!wanted && precondition === 'optional' && !conditional(request.fields)) {
    const refusal = await storage.remove(id, undefined, request.context)
    if (refusal !== undefined) throw problemOfRefusal(refusal)
    return undefined
  }
  return persist([storage, id], async () => {
    const before = found(await storage.find(id, request.context))
    check(collection, request, before)
    return await storage.remove(id, before.version, request.context) ?? before
  })
}

const attempts = 20

/** At once; where others write the same item, in turn with them. */
async function persist<Result extends object> ([storage, id]: [Storage<object>, Id], attempt: () => Promise<Result | Refusal>): Promise<Result> {
  if (!contended(storage, id)) {
    const result = await attempt()
    if (!refused(result)) return result
    if (!raced(result)) throw problemOfRefusal(result)
  }
  return inTurn(storage, id, () => insist(attempt, 1))
}

/** Of these refusals, another try may make something else; of the others, none does. */
function raced ({ refused }: Refusal): boolean {
  return refused === 'stale' || refused === 'absent'
}

/** Writers elsewhere know of no turns. */
async function insist<Result extends object> (attempt: () => Promise<Result | Refusal>, count: number): Promise<Result> {
  const result = await attempt()
  if (!refused(result)) return result
  if (!raced(result) || count === attempts) throw problemOfRefusal(result)
  await wait(Math.random() * count)
  return insist(attempt, count + 1)
}

/** Tells the definition of a write that is done; whatever comes of that, the write is done. */
export async function tell (collection: Collection, change: Changed<object>): Promise<void> {
  try {
    await collection.changed(change)
  } catch (err) {
    change.request.log.error({ err }, `the hook "changed" of the collection ${collection.name} failed after a ${change.action}`)
  }
}
