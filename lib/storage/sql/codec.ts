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
      fits: (value) => isText(value) && uuid.test(value)
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
  if (canonical.test(text)) return text
  return inUtc.test(text) ? `${text.slice(0, 10)}T${text.slice(11, -3).padEnd(12, text.length === 22 ? '.000' : '0')}Z` : new Date(milliseconds(text)).toISOString()
}

const canonical = /^\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d\.\d{3}Z$/
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
