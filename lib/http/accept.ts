// RFC 9110, section 12.5.1: Accept.

import { parseWord, splitList, token } from './grammar.ts'

interface MediaRange {
  /** In lower case and without parameters, such as `text/html` or `text/*`. */
  readonly type: string
  /** In lower case, such as `level=1`. */
  readonly parameters: readonly string[]
  readonly weight: number
}

/** Selects the best available media type; undefined if none is acceptable. The first one is the default. */
export function negotiate (field: string | undefined, available: readonly string[]): string | undefined {
  const preferred = available[0]
  if (field === undefined || field === '*/*' || field === preferred) return preferred
  if (available.includes(field)) return field
  // Without weights, nothing beats the default.
  if (field.startsWith(`${preferred},`) && !field.includes(';')) return preferred

  const ranges = splitList(field, ',').map(parseRange).filter((range) => range !== undefined)
  if (ranges.length === 0) return preferred
  let best: string | undefined
  let highest = 0
  for (const type of available) {
    const weight = getWeight(type, ranges)
    if (weight > highest) {
      best = type
      highest = weight
    }
  }
  return best
}

// The wildcard is a token, too.
const rangePattern = new RegExp(`^${token}/${token}$`)
// RFC 9110, section 12.4.2.
const weightPattern = /^(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)$/

function parseRange (text: string): MediaRange | undefined {
  const [type = '', ...rest] = splitList(text, ';')
  if (!rangePattern.test(type) || (type.startsWith('*') && type !== '*/*')) return undefined
  let weight = 1
  const parameters: string[] = []
  for (const part of rest) {
    const parameter = parseParameter(part)
    if (parameter === undefined) return undefined
    if (parameter.startsWith('q=')) {
      const value = parameter.slice(2)
      if (!weightPattern.test(value)) return undefined
      weight = Number(value)
    } else if (parameter !== 'charset=utf-8') {
      // Every response is UTF-8, with or without this parameter.
      parameters.push(parameter)
    }
  }
  return { type: type.toLowerCase(), parameters, weight }
}

function parseParameter (text: string): string | undefined {
  const equals = text.indexOf('=')
  const name = text.slice(0, equals)
  const value = parseWord(text.slice(equals + 1))
  return equals < 1 || value === undefined ? undefined : `${name}=${value}`.toLowerCase()
}

/** Cannot grow without bounds: the keys are the media types of formats, never text of a client. */
const parsedTypes = new Map<string, MediaRange>()

function parseType (available: string): MediaRange {
  let type = parsedTypes.get(available)
  if (type === undefined) {
    type = parseRange(available) ?? { type: available, parameters: [], weight: 1 }
    parsedTypes.set(available, type)
  }
  return type
}

/** Returns the weight of the most specific range that matches. Of equally specific ones, the first counts. */
function getWeight (available: string, ranges: readonly MediaRange[]): number {
  const { type, parameters } = parseType(available)
  let highest = -1
  let weight = 0
  for (const range of ranges) {
    const specificity = getSpecificity(range, type, parameters)
    if (specificity > highest) {
      highest = specificity
      weight = range.weight
    }
  }
  return weight
}

function getSpecificity (range: MediaRange, type: string, parameters: readonly string[]): number {
  if (!range.parameters.every((parameter) => parameters.includes(parameter))) return -1
  if (range.type === type) return 2 + range.parameters.length
  if (range.type === '*/*') return 0
  return range.type.endsWith('/*') && type.startsWith(range.type.slice(0, -1)) ? 1 : -1
}
