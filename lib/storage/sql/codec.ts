import { hasForm, toInstant } from '../instant.ts'
import type { Value } from './dialect.ts'
import type { Kind } from './kind.ts'
import { parseJson } from './parse-json.ts'

/** How values of one kind are bound to a statement, and how the values of a row are read. */
export interface Codec {
  readonly write: (value: unknown) => Value
  /** Throws if the value does not match the schema, because another writer changed the row. */
  readonly read: (value: unknown) => unknown
  /** Whether a value of a condition, or an id, can be bound. No row equals a value that cannot. */
  readonly canBind: (value: unknown) => boolean
}

const uuid = /^(?:urn:uuid:)?[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i
const uuidForm = 'xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx'
const dateForm = '0000-00-00'
const truths: ReadonlySet<unknown> = new Set([1, true, '1', 't', 'true'])

const isNumber = (value: unknown) => typeof value === 'number'
const toText = (value: unknown) => typeof value === 'string' ? value : String(value)
/** Only SQLite stores NUL in text. */
const isText = (value: unknown): value is string => typeof value === 'string' && !value.includes('\0')

/**
 * Throws instead of rounding: beyond this range a double represents several integers (RFC 7493, section 2.2).
 * Fractions are returned as they are.
 */
function readInteger (value: unknown): number {
  const number = Number(value)
  if (number >= Number.MIN_SAFE_INTEGER && number <= Number.MAX_SAFE_INTEGER) return number
  throw new RangeError(`${String(value)} is not an integer from -9007199254740991 to 9007199254740991`)
}

/** JSON has neither NaN nor infinity. */
function readNumber (value: unknown): number {
  const number = Number(value)
  if (Number.isFinite(number)) return number
  throw new RangeError(`${String(value)} is not a number of JSON`)
}

function isDate (text: string): boolean {
  return hasForm(text, dateForm) && !text.startsWith('0000') && !text.includes('-00')
}

/** The column of an existing table may contain a time as well. */
function readDate (value: unknown): string {
  const text = toText(value)
  const date = text.slice(0, 10)
  if (isDate(date) && (text.length === 10 || /^[T ](?!BC)/.test(text.slice(10)))) return date
  throw new RangeError(`${JSON.stringify(text)} is not a date of the years 0001 to 9999`)
}

function readInstant (value: unknown): string {
  const text = toText(value)
  const instant = toInstant(text)
  if (instant !== undefined) return instant
  throw new RangeError(`${JSON.stringify(text)} is not a date-time of the years 0001 to 9999`)
}

/** Creates the codecs of a database, which writes instants in its own form. */
export function createCodecs (toDateTime: (instant: string) => string): Readonly<Record<Kind, Codec>> {
  return {
    boolean: {
      write: (value) => value === true ? 1 : 0,
      read: (value) => truths.has(value),
      canBind: (value) => typeof value === 'boolean'
    },
    integer: { write: Number, read: readInteger, canBind: isNumber },
    number: { write: Number, read: readNumber, canBind: isNumber },
    text: { write: toText, read: toText, canBind: isText },
    uuid: {
      // RFC 9562, section 4: written in lower case, accepted in either.
      write: (value) => toText(value).slice(-36).toLowerCase(),
      read: toText,
      canBind: (value) => isText(value) && (hasForm(value, uuidForm) || uuid.test(value))
    },
    date: {
      write: toText,
      read: readDate,
      canBind: (value) => isText(value) && isDate(value) && !Number.isNaN(Date.parse(value))
    },
    'date-time': {
      write: (value) => toDateTime(readInstant(value)),
      read: readInstant,
      canBind: (value) => isText(value) && toInstant(value) !== undefined
    },
    json: {
      write: (value) => JSON.stringify(value),
      read: (value) => parseJson(toText(value)),
      canBind: (value) => value !== undefined
    }
  }
}
