import type { Lists } from './lists.ts'
import { isStringArray } from '../http/json-value.ts'
import { maxWords, parseWords } from '../storage/search-words.ts'
import { joinNames } from './join-names.ts'
import { maxOffset, maxSearchLength } from './lists.ts'
import { getParameterNames, getSortable } from './names.ts'
import type { ListQuery } from './list-query.ts'
import { parseFields, parseSort } from './selection.ts'

/** A query parameter of lists that is not a filter. */
interface Parameter {
  /** Parses text in a query string. */
  readonly ofText: (text: string) => unknown
  /** Returns the part of the query that the value states; or, as a string, what it must be. */
  readonly read: (lists: Lists, value: unknown) => ListQuery | string
}

const keepText = (text: string): unknown => text
const splitNames = (text: string): unknown => text.split(',')
const digits = /^\d{1,9}$/

/** A text that is no number is refused later. */
export function parseNumber (text: string): number | string {
  return digits.test(text) ? Number(text) : text
}

/** A text that is neither true nor false is refused later. */
export function parseBoolean (text: string): boolean | string {
  if (text === 'true') return true
  return text === 'false' ? false : text
}

export function isLimit (value: unknown, maximum: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= maximum
}

function isOffset (value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= maxOffset
}

function isSearch (value: unknown): value is string {
  return typeof value === 'string' &&
    value.trim() !== '' &&
    value.length <= maxSearchLength &&
    !value.includes('\0') &&
    parseWords(value).length <= maxWords
}

function describeArray (names: Iterable<string>): string {
  return `an array of these names: ${joinNames(names)}`
}

const parameters: Readonly<Record<string, Parameter>> = {
  limit: {
    ofText: parseNumber,
    read: ({ limit: { maximum } }, limit) => {
      return isLimit(limit, maximum) ? { limit } : `a whole number from 1 to ${maximum}`
    }
  },
  cursor: {
    ofText: keepText,
    read: (_lists, cursor) => typeof cursor === 'string' ? { cursor } : 'text'
  },
  offset: {
    ofText: parseNumber,
    read: (_lists, offset) => {
      // As if it were left out: tools such as Swagger UI send defaults, also with a cursor.
      if (offset === 0) return {}
      return isOffset(offset)
        ? { offset }
        : `a whole number from 0 to ${maxOffset}. To go further, follow the link "next" of a page`
    }
  },
  sort: {
    ofText: splitNames,
    // Text is always split, so anything else is the content of a QUERY or a call.
    read: (lists, names) => isStringArray(names) ? parseSort(lists, names) : describeArray(getSortable(lists).keys())
  },
  fields: {
    ofText: splitNames,
    read: (lists, names) => isStringArray(names) ? parseFields(lists, names) : describeArray(lists.visible)
  },
  count: {
    ofText: parseBoolean,
    read: (_lists, count) => typeof count === 'boolean' ? { count } : 'true or false'
  },
  q: {
    ofText: keepText,
    read: (_lists, search) => {
      if (isSearch(search)) return { search }
      return `text of up to ${maxSearchLength} characters and ${maxWords} different words`
    }
  }
}

/** Whether lists have a parameter of this name, although some storages do not offer it. */
export function isListParameter (name: string): boolean {
  return Object.hasOwn(parameters, name)
}

/** Returns a query parameter that the lists support. */
export function getParameter (lists: Lists, name: string): Parameter | undefined {
  if (!getParameterNames(lists).has(name)) return undefined
  return parameters[name] ?? lists.featureParameters.get(name)
}
