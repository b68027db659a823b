import type { HeaderFields } from '../response/response.ts'
import type { Collection } from '../collection.ts'
import type { Request } from '../request/request.ts'

export interface Listed {
  readonly versions: string
  readonly total: number | undefined
}

/** What was answered to a question, and the versions of the entries that it was made of. */
export interface Kept extends Listed {
  /** Without Content-Type, as a 304 has them. */
  readonly fields: HeaderFields
  readonly whole: HeaderFields
  readonly content: string
}

// The same entries make the same answer: it is put together once for as long as they stay. Which they are, the storage is always asked.
const answers = new WeakMap<Collection, Map<string, Kept>>()

/** Of each collection, so many, and none that is longer. */
const most = 32
const longest = 65_536

export function recall (collection: Collection, request: Request, { versions, total }: Listed): Kept | undefined {
  const known = answers.get(collection)?.get(keyOf(request))
  return known?.versions === versions && known.total === total ? known : undefined
}

/** The oldest goes first. */
export function keep (collection: Collection, request: Request, answer: Kept): void {
  if (answer.content.length > longest) return
  let known = answers.get(collection)
  if (known === undefined) answers.set(collection, known = new Map())
  const key = keyOf(request)
  known.delete(key)
  known.set(key, answer)
  if (known.size > most) known.delete(known.keys().next().value!)
}

function keyOf ({ path, search, format }: Request): string {
  return `${path}?${search} ${format.name}`
}
