// RFC 8594 section 3: Sunset, an HTTP date.

import { formatDate } from './date.ts'

export function sunset (end: Date): string {
  return formatDate(end)
}
