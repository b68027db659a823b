// Date-times are instants, in one canonical form for the core and for every storage.

const canonical = '0000-00-00T00:00:00.000Z'

const zero = 0x30
const nine = 0x39
const a = 0x61
const f = 0x66
const x = 0x78

/**
 * Whether a text has the form: a digit for each `0`, a lower-case hexadecimal digit for each `x`, and the same
 * character otherwise. Not a regular expression, because every row calls it and V8 stores the last match, which takes
 * 1 to 3 % of a GET.
 */
export function hasForm (text: string, form: string): boolean {
  if (text.length !== form.length) return false
  for (let at = 0; at < form.length; at++) {
    const code = text.charCodeAt(at)
    const expected = form.charCodeAt(at)
    const isDigit = code >= zero && code <= nine
    if (expected === zero) {
      if (!isDigit) return false
    } else if (expected === x) {
      if (!isDigit && (code < a || code > f)) return false
    } else if (code !== expected) {
      return false
    }
  }
  return true
}

/** Whether a text is a date-time in canonical form, on a day that every month has. */
export function isPlainInstant (text: string): boolean {
  if (!hasForm(text, canonical)) return false
  const month = readTwoDigits(text, 5)
  const day = readTwoDigits(text, 8)
  return month >= 1 && month <= 12 && day >= 1 && day <= 28 &&
    readTwoDigits(text, 11) < 24 && readTwoDigits(text, 14) < 60 && readTwoDigits(text, 17) < 60
}

function readTwoDigits (text: string, at: number): number {
  return (text.charCodeAt(at) - zero) * 10 + text.charCodeAt(at + 1) - zero
}

/** As PostgreSQL writes it when its time zone is UTC. */
const inUtc = /^\d{4}-\d\d-\d\d \d\d:\d\d:[0-5]\d(?:\.\d{1,3})?\+00$/

/**
 * Converts a date-time to an instant in UTC with milliseconds, such as `2026-01-01T04:00:00.000Z`; finer digits are cut
 * off. In this form, the order of texts is the order of instants. Returns undefined if the text is not a date-time, or
 * if its year in UTC is not within 0001 to 9999.
 */
export function toInstant (text: string): string | undefined {
  if (hasForm(text, canonical) && text[17]! < '6') return text.startsWith('0000') ? undefined : text
  if (inUtc.test(text)) {
    if (text.startsWith('0000')) return undefined
    const time = text.slice(11, -3).padEnd(12, text.length === 22 ? '.000' : '0')
    return `${text.slice(0, 10)}T${time}Z`
  }
  const time = parseMilliseconds(text)
  return time >= first && time <= last ? new Date(time).toISOString() : undefined
}

const first = Date.parse('0001-01-01T00:00:00.000Z')
const last = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * RFC 3339, and what databases write: a space before the time, no offset (which is UTC), and, from PostgreSQL, an
 * offset with seconds (local mean time), the years 1 BC and 10000 (the first and last day in other time zones).
 */
const parts = new RegExp([
  /^(\d{4}|10000)(-\d\d-\d\d)/, // year, month and day
  /(?:[T\s](\d\d:\d\d)(?::(\d\d)(\.\d+)?)?)?/, // hour and minute, second, fraction
  /\s*(Z|[+-]\d\d)?:?(\d\d)?(?::(\d\d))?/, // offset
  /( BC)?$/
].map(({ source }) => source).join(''), 'i')

/** NaN if the text is not a date-time. Second 60, a leap second (RFC 3339, section 5.6), is the one after 59. */
function parseMilliseconds (text: string): number {
  const match = parts.exec(text)
  if (match === null) return NaN
  const [
    ,
    year = '',
    day,
    minute = '00:00',
    second = '00',
    fraction = '',
    hours = 'Z',
    minutes = '00',
    seconds = '00',
    bc
  ] = match
  if (bc !== undefined && year !== '0001') return NaN
  const isLeap = second === '60'
  const time = `${minute}:${isLeap ? '59' : second}${fraction}`
  const local = Date.parse(`${toIsoYear(year, bc !== undefined)}${day}T${time}Z`) + (isLeap ? 1000 : 0)
  if (hours.toUpperCase() === 'Z') return local
  const offset = Number(hours.slice(1)) * 3600 + Number(minutes) * 60 + Number(seconds)
  return local - (hours.startsWith('-') ? -offset : offset) * 1000
}

function toIsoYear (year: string, isBc: boolean): string {
  if (isBc) return '0000'
  return year.length > 4 ? `+0${year}` : year
}
