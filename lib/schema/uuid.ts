// UUID version 7 (RFC 9562, section 5.7). Ids created by this process are ordered, even within one millisecond
// (section 6.2, method 1).
import { randomFillSync, randomInt } from 'node:crypto'

let timestamp = 0
let counter = 0

/** The previous id. The next one overwrites it, because joining strings would take ten times the memory. */
const text = Buffer.from('00000000-0000-7000-8000-000000000000')
const digits = Buffer.from('0123456789abcdef')
const random = Buffer.alloc(4096)
let used = random.length

/** Creates a UUID that is greater than all previous ones. */
export function createUuid (): string {
  const now = Date.now()
  if (now > timestamp) startMillisecond(now, randomInt(0x400))
  else if (++counter > 0xfff) startMillisecond(timestamp + 1, 0)
  if (used === random.length) {
    randomFillSync(random)
    used = 0
  }
  text[15] = digits[counter >> 8]!
  writeByte(16, counter & 0xff)
  // RFC 9562, section 4.1: the first two bits are the variant.
  writeByte(19, 0x80 | (random[used++]! & 0x3f))
  writeByte(21, random[used++]!)
  for (let at = 24; at < 36; at += 2) writeByte(at, random[used++]!)
  return text.toString('latin1')
}

function writeByte (at: number, byte: number): void {
  text[at] = digits[byte >> 4]!
  text[at + 1] = digits[byte & 0xf]!
}

function startMillisecond (time: number, count: number): void {
  timestamp = time
  counter = count
  const hex = time.toString(16).padStart(12, '0')
  text.write(`${hex.slice(0, 8)}-${hex.slice(8)}`, 'latin1')
}

const pattern = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/

/** Whether a text is a UUID in lower case. */
export function isUuid (text: string): boolean {
  return pattern.test(text)
}
