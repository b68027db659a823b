import type { Answer } from './answer.ts'
import type { Collection } from './definition.ts'
import { refusalIn, refused } from './refusal.ts'
import type { Request } from './request.ts'
import type { Entry, Refusal, Storage } from './storage/contract.ts'

interface Write {
  readonly write: (storage: Storage<object>) => Promise<Entry<object> | Refusal>
  readonly answer: (entry: Entry<object>) => Answer
}

/** Whether a write needs a transaction: with a key, or with a precondition on the list. */
export function needsTransaction ({ keep, checkAgain }: Request): boolean {
  return keep !== undefined || checkAgain !== undefined
}

/** A transaction; where the request depends on the list, it begins with a check that the list is as it was, and nobody changes it then. */
export function transact<Result> ({ storage }: Collection, { checkAgain }: Request, work: (storage: Storage<object>) => Promise<Result>): Promise<Result> {
  if (checkAgain === undefined) return storage.transaction!(work)
  return storage.exclusive!(async inner => {
    await checkAgain(inner)
    return work(inner)
  })
}

/** A write in one transaction with the answer that is kept for when the request is repeated. */
export async function receipted (collection: Collection, request: Request, { write, answer }: Write): Promise<Entry<object> | Refusal> {
  try {
    return await transact(collection, request, async inner => {
      const entry = await write(inner)
      if (!refused(entry)) await request.keep?.(inner, answer(entry))
      return entry
    })
  } catch (thrown) {
    const refusal = refusalIn(thrown)
    if (refusal === undefined) throw thrown
    return refusal
  }
}
