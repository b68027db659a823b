import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import type { Request } from './request.ts'

/**
 * Checks the query string of a request that takes no parameters. Returns whether parameters were ignored because the
 * client prefers lenient handling (RFC 7240, section 4.4); otherwise unknown parameters are a problem.
 */
export function checkQuery ({ search, query, preferences }: Request): boolean | Problem {
  const name = search === '' ? undefined : Object.keys(query)[0]
  if (name === undefined) return false
  if (preferences.handling === 'lenient') return true
  return problem('invalid-query', {
    detail: `The query parameter ${JSON.stringify(name)} is unknown. This request takes no query parameters.`,
    members: { parameter: name }
  })
}

/** The problem of a parameter with an invalid value. `about` names the part of the parameter that is invalid. */
export function badParameter (name: string, wanted: string, about: string = name): Problem {
  return problem('invalid-query', { detail: `${about} must be ${wanted}.`, members: { parameter: name } })
}
