// RFC 9562 section 5.7: ids in the order of their creation, within this process also in the same millisecond (section 6.2, method 1).
import { randomInt, randomUUID } from 'node:crypto'

let moment = 0
let counter = 0
let prefix = ''

export function uuid (): string {
  const now = Date.now()
  if (now > moment) begin(now, randomInt(0x400))
  else if (++counter > 0xfff) begin(moment + 1, 0)
  return `${prefix}${counter.toString(16).padStart(3, '0')}-${randomUUID().slice(19)}`
}

function begin (time: number, count: number): void {
  moment = time
  counter = count
  const digits = time.toString(16).padStart(12, '0')
  prefix = `${digits.slice(0, 8)}-${digits.slice(8)}-7`
}

/** Whether it is one as we write it. By hand: every request for an item asks. */
export function isUuid (text: string): boolean {
  if (text.length !== 36) return false
  for (let at = 0; at < 36; at++) {
    const code = text.charCodeAt(at)
    const digit = (code > 0x2f && code < 0x3a) || (code > 0x60 && code < 0x67)
    if (at === 8 || at === 13 || at === 18 || at === 23 ? code !== 0x2d : !digit) return false
  }
  return true
}
