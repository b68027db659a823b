// RFC 9562 section 5.7: ids in the order of their creation, within this process also in the same millisecond (section 6.2, method 1).
import { randomFillSync, randomInt } from 'node:crypto'

let moment = 0
let counter = 0

/** The id before, over which the next one is written: strings that are joined would cost ten times the memory. */
const text = Buffer.from('00000000-0000-7000-8000-000000000000')
const digits = Buffer.from('0123456789abcdef')
const random = Buffer.alloc(4096)
let used = random.length

export function uuid (): string {
  const now = Date.now()
  if (now > moment) begin(now, randomInt(0x400))
  else if (++counter > 0xfff) begin(moment + 1, 0)
  if (used === random.length) {
    randomFillSync(random)
    used = 0
  }
  text[15] = digits[counter >> 8]!
  put(16, counter & 0xff)
  // Section 4.1: the variant is in the first two bits.
  put(19, 0x80 | (random[used++]! & 0x3f))
  put(21, random[used++]!)
  for (let at = 24; at < 36; at += 2) put(at, random[used++]!)
  return text.toString('latin1')
}

function put (at: number, byte: number): void {
  text[at] = digits[byte >> 4]!
  text[at + 1] = digits[byte & 0xf]!
}

function begin (time: number, count: number): void {
  moment = time
  counter = count
  const written = time.toString(16).padStart(12, '0')
  text.write(`${written.slice(0, 8)}-${written.slice(8)}`, 'latin1')
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
