// RFC 9110, section 5.6.7: dates and times.

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const month = `(?<month>${months.join('|')})`
const day = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const longDay = '(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)'
const time = '(?<hour>[01][0-9]|2[0-3]):(?<minute>[0-5][0-9]):(?<second>[0-5][0-9]|60)'

const fixdate = new RegExp(`^${day}, (?<date>[0-9]{2}) ${month} (?<year>[0-9]{4}) ${time} GMT$`)
const rfc850 = new RegExp(`^${longDay}, (?<date>[0-9]{2})-${month}-(?<year>[0-9]{2}) ${time} GMT$`)
const asctime = new RegExp(`^${day} ${month} (?<date>[0-9]{2}| [0-9]) ${time} (?<year>[0-9]{4})$`)

/** Parses a date in one of the three forms; undefined if it is malformed or does not exist in the calendar. */
export function parseDate (field: string): Date | undefined {
  const parts = (fixdate.exec(field) ?? rfc850.exec(field) ?? asctime.exec(field))?.groups
  if (parts === undefined) return undefined
  const year = Number(parts['year'])
  return field.includes('-') ? toDateInCentury(year, parts) : toDate(year, parts)
}

type Parts = Readonly<Record<string, string>>

function toDate (year: number, parts: Parts): Date | undefined {
  const date = new Date(0)
  date.setUTCFullYear(year, months.findIndex((name) => name === parts['month']), Number(parts['date']))
  if (date.getUTCDate() !== Number(parts['date'])) return undefined
  date.setUTCHours(Number(parts['hour']), Number(parts['minute']), Number(parts['second']))
  return date
}

/** A date with a two-digit year that seems to be more than 50 years in the future is in the past century. */
function toDateInCentury (twoDigitYear: number, parts: Parts): Date | undefined {
  const limit = new Date()
  limit.setUTCFullYear(limit.getUTCFullYear() + 50)
  const lastYear = limit.getUTCFullYear()
  const year = lastYear - (lastYear - twoDigitYear) % 100
  const date = toDate(year, parts)
  return date !== undefined && date > limit ? toDate(year - 100, parts) : date
}

let lastSecond = NaN
let lastField = ''

/** Formats a date as IMF-fixdate. Most dates formatted in a row are in the same second, so the last one is cached. */
export function formatDate (date: Date): string {
  const second = Math.floor(date.getTime() / 1000)
  if (second !== lastSecond) {
    lastSecond = second
    lastField = date.toUTCString()
  }
  return lastField
}
