import type { Answer } from './answer.ts'
import type { Collection } from './definition.ts'
import { refused } from './refusal.ts'
import type { Request } from './request.ts'
import type { Entry, Refusal, Storage } from './storage/contract.ts'

/** What is answered to the write of an entry. */
export type Answering = (collection: Collection, request: Request, entry: Entry<object>) => Answer

interface Write {
  readonly write: (storage: Storage<object>) => Promise<Entry<object> | Refusal>
  readonly answer: Answering
}

/** A write in one transaction with the answer that is kept for when the request is repeated. */
export function receipted (collection: Collection, request: Request, { write, answer }: Write): Promise<Entry<object> | Refusal> {
  return collection.storage.transaction!(async storage => {
    const entry = await write(storage)
    if (!refused(entry)) await request.keep?.(storage, answer(collection, request, entry))
    return entry
  })
}
