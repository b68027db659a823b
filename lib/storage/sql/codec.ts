import type { Value } from './dialect.ts'
import type { Kind } from './kind.ts'
import { parseJson } from './parse-json.ts'

/** How the values of one kind are bound, and how what a driver gives is read. */
export interface Codec {
  readonly write: (value: unknown) => Value
  readonly read: (value: unknown) => unknown
  /** Whether a value, of a condition or an id, can be bound at all; nothing equals one that cannot. */
  readonly fits: (value: unknown) => boolean
}

const uuid = /^(?:urn:uuid:)?[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i
const lowerCase = 'xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx'
const date = /^\d{4}-\d\d-\d\d$/
const truths: ReadonlySet<unknown> = new Set([1, true, '1', 't', 'true'])

const isNumber = (value: unknown) => typeof value === 'number'
const asText = (value: unknown) => typeof value === 'string' ? value : String(value)
/** No database but SQLite keeps NUL in text. */
const isText = (value: unknown): value is string => typeof value === 'string' && !value.includes('\0')

export function codecs (instant: (text: string) => string): Readonly<Record<Kind, Codec>> {
  const number: Codec = { write: Number, read: Number, fits: isNumber }
  const text: Codec = { write: asText, read: asText, fits: isText }
  return {
    boolean: {
      write: (value) => value === true ? 1 : 0,
      read: (value) => truths.has(value),
      fits: (value) => typeof value === 'boolean'
    },
    integer: number,
    number,
    text,
    uuid: {
      // RFC 9562, section 4: put out in lower case, taken in either.
      write: (value) => asText(value).slice(-36).toLowerCase(),
      read: asText,
      fits: (value) => isText(value) && (isLike(value, lowerCase) || uuid.test(value))
    },
    date: {
      write: asText,
      read: (value) => asText(value).slice(0, 10),
      fits: (value) => isText(value) && date.test(value) && !Number.isNaN(Date.parse(value))
    },
    'date-time': {
      write: (value) => instant(toInstant(value)),
      read: toInstant,
      fits: (value) => isText(value) && !Number.isNaN(milliseconds(value))
    },
    json: {
      write: (value) => JSON.stringify(value),
      read: (value) => parseJson(asText(value)),
      fits: (value) => value !== undefined
    }
  }
}

/** RFC 3339 in UTC with milliseconds; what is finer is cut off. */
function toInstant (value: unknown): string {
  const text = asText(value)
  if (isLike(text, canonical) && text[17]! < '6') return text
  return inUtc.test(text) ? `${text.slice(0, 10)}T${text.slice(11, -3).padEnd(12, text.length === 22 ? '.000' : '0')}Z` : new Date(milliseconds(text)).toISOString()
}

const canonical = '0000-00-00T00:00:00.000Z'
/** As PostgreSQL puts it out where its time zone is UTC. */
const inUtc = /^\d{4}-\d\d-\d\d \d\d:\d\d:[0-5]\d(?:\.\d{1,3})?\+00$/
const parts = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(?::(\d\d)(\.\d+)?)?)?\s*(Z|[+-]\d\d)?:?(\d\d)?$/i

/** A time without an offset is UTC; second 60, a leap second (RFC 3339, section 5.6), is the one after 59. */
function milliseconds (text: string): number {
  const [match, day, minute = '00:00', second = '00', fraction = '', hours = 'Z', minutes = '00'] = parts.exec(text) ?? []
  if (match === undefined) return NaN
  const leap = second === '60'
  const offset = hours.toUpperCase() === 'Z' ? 'Z' : `${hours}:${minutes}`
  return Date.parse(`${day}T${minute}:${leap ? '59' : second}${fraction}${offset}`) + (leap ? 1000 : 0)
}

const [zero, nine, a, f, x] = [0x30, 0x39, 0x61, 0x66, 0x78]

/**
 * Whether a text is like the model, with digits where that has zeros and hexadecimal ones where it has an x.
 * By hand: every row asks, and for a pattern that matches V8 keeps what it has matched, which takes 1 to 3 % of a GET.
 */
function isLike (text: string, model: string): boolean {
  if (text.length !== model.length) return false
  for (let at = 0; at < model.length; at++) {
    const code = text.charCodeAt(at)
    const wanted = model.charCodeAt(at)
    const isDigit = code >= zero && code <= nine
    if (wanted === zero ? !isDigit : wanted === x ? !isDigit && (code < a || code > f) : code !== wanted) return false
  }
  return true
}
