import type { Answer } from './answer.ts'
import type { Collection } from './definition.ts'
import { refusalIn, refused } from './refusal.ts'
import type { Request } from './request.ts'
import type { Entry, Refusal, Storage } from './storage/contract.ts'

interface Write {
  readonly write: (storage: Storage<object>) => Promise<Entry<object> | Refusal>
  readonly answer: (entry: Entry<object>) => Answer
}

/** A write in one transaction with the answer that is kept for when the request is repeated. */
export async function receipted ({ storage }: Collection, { keep }: Request, { write, answer }: Write): Promise<Entry<object> | Refusal> {
  try {
    return await storage.transaction!(async inner => {
      const entry = await write(inner)
      if (!refused(entry)) await keep?.(inner, answer(entry))
      return entry
    })
  } catch (thrown) {
    const refusal = refusalIn(thrown)
    if (refusal === undefined) throw thrown
    return refusal
  }
}
