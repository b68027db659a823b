// What a date-time means, to the core and to every storage: an instant, written in one form.

const canonical = '0000-00-00T00:00:00.000Z'
const [zero, nine, a, f, x] = [0x30, 0x39, 0x61, 0x66, 0x78]

/**
 * Whether a text is like the model, with digits where that has zeros and hexadecimal ones where it has an x.
 * Not a regular expression: every row calls it, and V8 keeps what an expression has matched, which takes 1 to 3 % of a GET.
 */
export function isLike (text: string, model: string): boolean {
  if (text.length !== model.length) return false
  for (let at = 0; at < model.length; at++) {
    const code = text.charCodeAt(at)
    const wanted = model.charCodeAt(at)
    const isDigit = code >= zero && code <= nine
    if (wanted === zero ? !isDigit : wanted === x ? !isDigit && (code < a || code > f) : code !== wanted) return false
  }
  return true
}

/** As PostgreSQL writes it when its time zone is UTC. */
const inUtc = /^\d{4}-\d\d-\d\d \d\d:\d\d:[0-5]\d(?:\.\d{1,3})?\+00$/

/**
 * The instant in UTC with milliseconds, such as `2026-01-01T04:00:00.000Z`; finer digits are cut off. In this form, the
 * order of texts is the order of instants. Undefined if the text is no date-time, or if its year in UTC is not within
 * 0001 to 9999.
 */
export function toInstant (text: string): string | undefined {
  if (isLike(text, canonical) && text[17]! < '6') return text.startsWith('0000') ? undefined : text
  if (inUtc.test(text)) {
    return text.startsWith('0000') ? undefined : `${text.slice(0, 10)}T${text.slice(11, -3).padEnd(12, text.length === 22 ? '.000' : '0')}Z`
  }
  const time = milliseconds(text)
  return time >= first && time <= last ? new Date(time).toISOString() : undefined
}

const first = Date.parse('0001-01-01T00:00:00.000Z')
const last = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * RFC 3339, and what databases write: a space before the time, no offset (which is UTC), and, from PostgreSQL, an offset
 * with seconds (local mean time), the years 1 BC and 10000 (the first and last day in other time zones).
 */
const parts = /^(\d{4}|10000)(-\d\d-\d\d)(?:[T\s](\d\d:\d\d)(?::(\d\d)(\.\d+)?)?)?\s*(Z|[+-]\d\d)?:?(\d\d)?(?::(\d\d))?( BC)?$/i

/** NaN if it is no date-time. Second 60, a leap second (RFC 3339, section 5.6), is the one after 59. */
function milliseconds (text: string): number {
  const match = parts.exec(text)
  if (match === null) return NaN
  const [, year = '', day, minute = '00:00', second = '00', fraction = '', hours = 'Z', minutes = '00', seconds = '00', bc] = match
  if (bc !== undefined && year !== '0001') return NaN
  const written = bc !== undefined ? '0000' : year.length > 4 ? `+0${year}` : year
  const leap = second === '60'
  const local = Date.parse(`${written}${day}T${minute}:${leap ? '59' : second}${fraction}Z`) + (leap ? 1000 : 0)
  if (hours.toUpperCase() === 'Z') return local
  const offset = Number(hours.slice(1)) * 3600 + Number(minutes) * 60 + Number(seconds)
  return local - (hours.startsWith('-') ? -offset : offset) * 1000
}
