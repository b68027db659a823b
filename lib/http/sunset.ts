// RFC 8594, section 3: Sunset.

import { formatDate } from './date.ts'

export function formatSunset (end: Date): string {
  return formatDate(end)
}
