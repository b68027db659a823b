import type { Collection } from '../collection.ts'
import { maxWords, parseWords } from '../storage/search-words.ts'
import { longestSearch } from './listing.ts'
import type { Question } from './question.ts'
import { readFields, readOrder } from './selection.ts'

/** What can be asked of a list beside its filter. */
interface Parameter {
  /** The value that a text in a query string means. */
  readonly ofText: (text: string) => unknown
  /** What the value says of the question, or, as a text, what it would must be. */
  readonly read: (collection: Collection, value: unknown) => Question | string
}

const asItIs = (text: string): unknown => text
const digits = /^\d{1,9}$/
const parted = (text: string): unknown => text.split(',')

function isSearch (text: string): boolean {
  return text.trim() !== '' && text.length <= longestSearch && !text.includes('\0') && parseWords(text).length <= maxWords
}

function isNames (value: unknown): value is string[] {
  return Array.isArray(value) && value.every(name => typeof name === 'string')
}

const parameters: Readonly<Record<string, Parameter>> = {
  limit: {
    ofText: text => digits.test(text) ? Number(text) : text,
    read: ({ limit: { maximum } }, limit) => {
      const isValid = typeof limit === 'number' && Number.isInteger(limit) && limit >= 1 && limit <= maximum
      return isValid ? { limit } : `a whole number from 1 to ${maximum}`
    }
  },
  cursor: {
    ofText: asItIs,
    read: (_collection, cursor) => typeof cursor === 'string' ? { cursor } : 'text'
  },
  sort: {
    ofText: parted,
    read: (collection, names) => readOrder(collection, isNames(names) ? names : [])
  },
  fields: {
    ofText: parted,
    read: (collection, names) => readFields(collection, isNames(names) ? names : [])
  },
  count: {
    ofText: text => text === 'true' ? true : text === 'false' ? false : text,
    read: (_collection, count) => typeof count === 'boolean' ? { count } : 'true or false'
  },
  q: {
    ofText: asItIs,
    read: (_collection, text) => typeof text === 'string' && isSearch(text) ? { search: text } : `text of up to ${longestSearch} characters and ${maxWords} different words`
  }
}

export function parameterOf ({ listing, attached }: Collection, name: string): Parameter | undefined {
  return listing.parameters.has(name) ? parameters[name] ?? attached.queryParameters.get(name) : undefined
}
