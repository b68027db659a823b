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
