import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import type { Request } from './request.ts'

/** For what takes no query. A parameter that is not known was meant to do something: 400, unless the client prefers to be served all the same (RFC 7240 section 4.4), which is told. */
export function checkQuery ({ search, query, preferences }: Request): boolean | Problem {
  const name = search === '' ? undefined : Object.keys(query)[0]
  if (name === undefined) return false
  if (preferences.handling === 'lenient') return true
  return problem('invalid-query', { detail: `The query parameter ${JSON.stringify(name)} is unknown. This request takes no query parameters.`, members: { parameter: name } })
}

/** A parameter whose value is not understood, and what it would must be; `about` names the part of it that is meant. */
export function badParameter (name: string, wanted: string, about: string = name): Problem {
  return problem('invalid-query', { detail: `${about} must be ${wanted}.`, members: { parameter: name } })
}
