// RFC 9110 §5.6.7: dates and times.

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const month = `(?<month>${months.join('|')})`
const day = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)'
const longDay = '(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)'
const time = '(?<hour>[01][0-9]|2[0-3]):(?<minute>[0-5][0-9]):(?<second>[0-5][0-9]|60)'

const fixdate = new RegExp(`^${day}, (?<date>[0-9]{2}) ${month} (?<year>[0-9]{4}) ${time} GMT$`)
const rfc850 = new RegExp(`^${longDay}, (?<date>[0-9]{2})-${month}-(?<year>[0-9]{2}) ${time} GMT$`)
const asctime = new RegExp(`^${day} ${month} (?<date>[0-9]{2}| [0-9]) ${time} (?<year>[0-9]{4})$`)

/** Undefined where the field is none of the three forms, or names a day that is not in the calendar. */
export function parseDate (field: string): Date | undefined {
  const parts = (fixdate.exec(field) ?? rfc850.exec(field) ?? asctime.exec(field))?.groups
  if (parts === undefined) return undefined
  const year = Number(parts['year'])
  return field.includes('-') ? nearest(year, parts) : dateIn(year, parts)
}

type Parts = Readonly<Record<string, string>>

function dateIn (year: number, parts: Parts): Date | undefined {
  const date = new Date(0)
  date.setUTCFullYear(year, months.findIndex(name => name === parts['month']), Number(parts['date']))
  if (date.getUTCDate() !== Number(parts['date'])) return undefined
  date.setUTCHours(Number(parts['hour']), Number(parts['minute']), Number(parts['second']))
  return date
}

// A date that seems to be more than fifty years ahead is in the century before.
function nearest (twoDigits: number, parts: Parts): Date | undefined {
  const limit = new Date()
  limit.setUTCFullYear(limit.getUTCFullYear() + 50)
  const last = limit.getUTCFullYear()
  const year = last - (last - twoDigits) % 100
  const date = dateIn(year, parts)
  return date !== undefined && date > limit ? dateIn(year - 100, parts) : date
}

let second = NaN
let field = ''

/** IMF-fixdate. Most dates of one moment are of the same second, which is written once. */
export function formatDate (date: Date): string {
  const own = Math.floor(date.getTime() / 1000)
  if (own !== second) {
    second = own
    field = date.toUTCString()
  }
  return field
}
