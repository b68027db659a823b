// RFC 9110 §12.5.1: Accept.

import { split, token, word } from './grammar.ts'

interface Range {
  /** In lower case and without parameters, such as `text/html`, `text/*`. */
  readonly type: string
  /** In lower case, such as `level=1`. */
  readonly parameters: readonly string[]
  readonly weight: number
}

/** The best of the media types that there are, the server's favourite first; undefined where none is acceptable. */
export function negotiate (field: string | undefined, available: readonly string[]): string | undefined {
  const favourite = available[0]
  if (field === undefined || field === '*/*' || field === favourite) return favourite
  if (available.includes(field)) return field
  // Without weights nothing is better than the favourite.
  if (field.startsWith(`${favourite},`) && !field.includes(';')) return favourite
  const ranges = split(field, ',').map(range).filter(range => range !== undefined)
  if (ranges.length === 0) return favourite
  let best: string | undefined
  let highest = 0
  for (const type of available) {
    const quality = weigh(type, ranges)
    if (quality > highest) {
      best = type
      highest = quality
    }
  }
  return best
}

// The wildcard is a token, too.
const mediaRange = new RegExp(`^${token}/${token}$`)
// §12.4.2
const weight = /^(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)$/

function range (member: string): Range | undefined {
  const [type = '', ...rest] = split(member, ';')
  if (!mediaRange.test(type) || (type.startsWith('*') && type !== '*/*')) return undefined
  let quality = 1
  const parameters: string[] = []
  for (const text of rest) {
    const parameter = lowerCase(text)
    if (parameter === undefined) return undefined
    if (parameter.startsWith('q=')) {
      const value = parameter.slice(2)
      if (!weight.test(value)) return undefined
      quality = Number(value)
    } else if (parameter !== 'charset=utf-8') {
      // All that is sent is UTF-8, with or without this parameter.
      parameters.push(parameter)
    }
  }
  return { type: type.toLowerCase(), parameters, weight: quality }
}

function lowerCase (parameter: string): string | undefined {
  const equals = parameter.indexOf('=')
  const name = parameter.slice(0, equals)
  const value = word(parameter.slice(equals + 1))
  return equals < 1 || value === undefined ? undefined : `${name}=${value}`.toLowerCase()
}

const types = new Map<string, Range>()

// There are as many as formats, and none comes from a client.
function parsed (available: string): Range {
  const type = types.get(available) ?? range(available) ?? { type: available, parameters: [], weight: 1 }
  types.set(available, type)
  return type
}

/** The weight of the most specific range that the media type is in; the first of equals counts. */
function weigh (available: string, ranges: readonly Range[]): number {
  const { type, parameters } = parsed(available)
  let closest = -1
  let quality = 0
  for (const candidate of ranges) {
    const closeness = specificity(candidate, type, parameters)
    if (closeness > closest) {
      closest = closeness
      quality = candidate.weight
    }
  }
  return quality
}

function specificity (range: Range, type: string, parameters: readonly string[]): number {
  if (!range.parameters.every(parameter => parameters.includes(parameter))) return -1
  if (range.type === type) return 2 + range.parameters.length
  if (range.type === '*/*') return 0
  return range.type.endsWith('/*') && type.startsWith(range.type.slice(0, -1)) ? 1 : -1
}
