import { isDecodable } from '../http/percent-encoding.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import type { QueryRequest } from './parse.ts'

/**
 * RFC 3986, section 2.1: a percent sign is followed by two hexadecimal digits, and the octets are UTF-8. The parser of
 * Fastify would return anything else as it is, and `?name=%FF` would find the item whose name is "%FF".
 */
export function checkEncoding (search: string): Problem | undefined {
  if (!search.includes('%') || isDecodable(search)) return undefined
  const [name = ''] = search.split('&').find((parameter) => !isDecodable(parameter))?.split('=', 1) ?? []
  return badParameter(name, 'percent-encoded UTF-8. A percent sign itself is %25', `The query parameter "${name}"`)
}

/** Checks the query string of a request that takes no parameters. */
export function checkQuery ({ search, query }: QueryRequest): Problem | undefined {
  const name = search === '' ? undefined : Object.keys(query)[0]
  if (name === undefined) return undefined
  return problem('invalid-query', {
    detail: `The query parameter ${JSON.stringify(name)} is unknown. This request takes no query parameters.`,
    properties: { parameter: name }
  })
}

/** The problem of a parameter with an invalid value. `about` names the part of the parameter that is invalid. */
export function badParameter (name: string, wanted: string, about: string = name): Problem {
  return problem('invalid-query', { detail: `${about} must be ${wanted}.`, properties: { parameter: name } })
}
