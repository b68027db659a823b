import { isLike, toInstant } from '../instant.ts'
import type { Value } from './dialect.ts'
import type { Kind } from './kind.ts'
import { parseJson } from './parse-json.ts'

/** How the values of one kind are bound, and how what a driver gives is read. */
export interface Codec {
  readonly write: (value: unknown) => Value
  /** Throws if a row holds what the schema cannot mean. Another writer may have put it there. */
  readonly read: (value: unknown) => unknown
  /** Whether a value, of a condition or an id, can be bound at all; nothing equals one that cannot. */
  readonly fits: (value: unknown) => boolean
}

const uuid = /^(?:urn:uuid:)?[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i
const lowerCase = 'xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx'
const day = '0000-00-00'
const truths: ReadonlySet<unknown> = new Set([1, true, '1', 't', 'true'])

const isNumber = (value: unknown) => typeof value === 'number'
const asText = (value: unknown) => typeof value === 'string' ? value : String(value)
/** No database but SQLite keeps NUL in text. */
const isText = (value: unknown): value is string => typeof value === 'string' && !value.includes('\0')

/** Not rounded: beyond this range a double stands for several integers (RFC 7493, section 2.2). Fractions are left as they are. */
function readInteger (value: unknown): number {
  const number = Number(value)
  if (number >= Number.MIN_SAFE_INTEGER && number <= Number.MAX_SAFE_INTEGER) return number
  throw new RangeError(`${String(value)} is no integer from -9007199254740991 to 9007199254740991`)
}

/** JSON has neither NaN nor infinity. */
function readNumber (value: unknown): number {
  const number = Number(value)
  if (Number.isFinite(number)) return number
  throw new RangeError(`${String(value)} is no number that JSON can hold`)
}

function isDay (text: string): boolean {
  return isLike(text, day) && !text.startsWith('0000') && !text.includes('-00')
}

/** A column that exists may hold a time as well. */
function readDay (value: unknown): string {
  const text = asText(value)
  const date = text.slice(0, 10)
  if (isDay(date) && (text.length === 10 || /^[T ](?!BC)/.test(text.slice(10)))) return date
  throw new RangeError(`${JSON.stringify(text)} is no date of the years 0001 to 9999`)
}

function readInstant (value: unknown): string {
  const text = asText(value)
  const instant = toInstant(text)
  if (instant !== undefined) return instant
  throw new RangeError(`${JSON.stringify(text)} is no date-time of the years 0001 to 9999`)
}

export function codecs (instant: (text: string) => string): Readonly<Record<Kind, Codec>> {
  const text: Codec = { write: asText, read: asText, fits: isText }
  return {
    boolean: {
      write: (value) => value === true ? 1 : 0,
      read: (value) => truths.has(value),
      fits: (value) => typeof value === 'boolean'
    },
    integer: { write: Number, read: readInteger, fits: isNumber },
    number: { write: Number, read: readNumber, fits: isNumber },
    text,
    uuid: {
      // RFC 9562, section 4: put out in lower case, taken in either.
      write: (value) => asText(value).slice(-36).toLowerCase(),
      read: asText,
      fits: (value) => isText(value) && (isLike(value, lowerCase) || uuid.test(value))
    },
    date: {
      write: asText,
      read: readDay,
      fits: (value) => isText(value) && isDay(value) && !Number.isNaN(Date.parse(value))
    },
    'date-time': {
      write: (value) => instant(readInstant(value)),
      read: readInstant,
      fits: (value) => isText(value) && toInstant(value) !== undefined
    },
    json: {
      write: (value) => JSON.stringify(value),
      read: (value) => parseJson(asText(value)),
      fits: (value) => value !== undefined
    }
  }
}
