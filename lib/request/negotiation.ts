import type { Collection } from '../collection.ts'
import type { Format } from '../formats/format.ts'
import { negotiate } from '../http/accept.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'

/** The format that the field Accept asks for; undefined where it can have none of ours. */
export function formatOf ({ formats, mediaTypes }: Collection, accept: string | undefined): Format | undefined {
  const type = negotiate(accept, mediaTypes)
  return type === undefined ? undefined : formats[mediaTypes.indexOf(type)]
}

/** RFC 9110 section 15.5.7: 406 lists what there is. */
export function notAcceptable ({ mediaTypes }: Collection): Problem {
  return problem('not-acceptable', { detail: `Available media types: ${mediaTypes.join(', ')}.`, members: { available: mediaTypes } })
}
