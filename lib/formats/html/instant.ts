// Dates as a person reads them. In UTC and without Intl, so that the text does not depend on where it is rendered.

interface ReadableInstant {
  readonly text: string
  /** The form that `<time>` requires. RFC 3339 allows more, such as lower case. */
  readonly machine: string
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** Formats a date or a date-time; undefined if the text is neither. */
export function formatInstant (
  value: string,
  format: string | undefined,
  withSeconds: boolean
): ReadableInstant | undefined {
  if (format !== 'date-time' && format !== 'date') return undefined
  const date = new Date(value)
  // Such as the leap second 23:59:60.
  if (Number.isNaN(date.getTime())) return undefined
  const machine = date.toISOString()
  // Two digits, so that the dates of a column are aligned.
  const day = `${machine.slice(8, 10)} ${months[date.getUTCMonth()]!} ${machine.slice(0, 4)}`
  // A Date turns February 30 into March 2.
  if (format === 'date') return machine.startsWith(value) ? { text: day, machine: value } : undefined
  return { text: `${day}, ${machine.slice(11, withSeconds ? 19 : 16)} UTC`, machine }
}
