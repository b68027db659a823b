// RFC 9562 section 5.7: ids in the order of their creation, within this process also in the same millisecond (section 6.2, method 1).
import { randomInt, randomUUID } from 'node:crypto'

let moment = 0
let counter = 0

export function uuid (): string {
  const now = Date.now()
  if (now > moment) {
    moment = now
    counter = randomInt(0x400)
  } else if (++counter > 0xfff) {
    moment++
    counter = 0
  }
  const time = moment.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counter.toString(16).padStart(3, '0')}-${randomUUID().slice(19)}`
}
