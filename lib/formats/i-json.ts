// RFC 8259 (JSON) and RFC 7493 (I-JSON): content of application/json, read without losing anything on the way.

import { isUtf8 } from 'node:buffer'
import { keeps } from './decimal.ts'
import { Malformed } from './format.ts'
import { deepest, readIJson } from './i-json-reader.ts'

/** Throws `Malformed`. */
export function parseIJson (content: Buffer): unknown {
  if (content.length === 0) throw new Malformed('The content is empty.')
  if (!isUtf8(content)) throw new Malformed('The content is not UTF-8.')
  const text = unmarked(content.toString())
  try {
    const value: unknown = JSON.parse(text)
    // Of two members with one name the value keeps one, but the text has a colon for each.
    const faithful = members(value, 0) === colons(text) && isClean(Object.prototype)
    if (faithful && !escapes(text) && !losesDigits(text) && !underflows(text)) return value
  } catch {
    // The message differs between versions of the parser: the reader words its own.
  }
  return readIJson(text)
}

// RFC 8259 §8.1 lets a reader ignore a byte order mark.
function unmarked (text: string): string {
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

/** How many members a value has at all depths, or NaN where something needs a closer look. */
function members (value: unknown, depth: number): number {
  if (typeof value === 'number') return Number.isFinite(value) ? 0 : NaN
  if (typeof value !== 'object' || value === null) return 0
  if (depth === deepest) return NaN
  let count = 0
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) count += members(value[index], depth + 1)
    return count
  }
  // JSON.parse gives plain objects.
  const object = value as Record<string, unknown>
  for (const name in object) {
    if (name === '__proto__' || name === 'constructor') return NaN
    count += 1 + members(object[name], depth + 1)
  }
  return count
}

// A member that someone put there would be counted with every object.
function isClean (prototype: object): boolean {
  return Object.keys(prototype).length === 0
}

/** Every colon after a name, and the few in strings that look like one: never less than the members written. */
function colons (text: string): number {
  let count = 0
  for (let at = text.indexOf(':'); at !== -1; at = text.indexOf(':', at + 1)) {
    const before = text.charCodeAt(at - 1)
    if (before === 0x22 || before <= 0x20) count++
  }
  return count
}

const forbidden = /\\u(?:0000|d[89a-f])/iy
const pair = /\\ud[89ab][0-9a-f]{2}\\ud[c-f]/iy
const endOfName = /"\s*:/y

/**
 * Whether an escape stands for U+0000 or for half of a surrogate pair, or is in a name: V8 since 12.8 takes such a
 * name for another one at times (https://github.com/nodejs/node/issues/63785).
 */
function escapes (text: string): boolean {
  let quote = 0
  for (let at = text.indexOf('\\'), next; at !== -1; at = next) {
    if (text.charCodeAt(at + 1) === 0x75 && isAt(text, at, forbidden)) {
      if (!isAt(text, at, pair)) return true
      at += 6
    }
    next = text.indexOf('\\', at + 2)
    if (quote < at + 2) quote = text.indexOf('"', at + 2)
    if ((next === -1 || next > quote) && isAt(text, quote, endOfName)) return true
  }
  return false
}

const enough = 16
const number = /[0-9.]+(?:e[+-]?[0-9]+)?/iy

/** Whether a number with more digits than any double keeps, fifteen, is not kept. One of sixteen characters is in it. */
function losesDigits (text: string): boolean {
  for (let at = enough - 1; at < text.length; at += enough) {
    if (!isDigit(text, at)) continue
    let start = at
    while (isDigit(text, start - 1)) start--
    while (isDigit(text, at + 1)) at++
    if (at - start < enough - 1 || text.charCodeAt(start - 1) === 0x22) continue
    isAt(text, start, number)
    if (!keeps(text.slice(start, number.lastIndex))) return true
  }
  return false
}

function isDigit (text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return (code > 0x2f && code < 0x3a) || code === 0x2e
}

const tiny = /e-[0-9]{3,}(?:[\s,\]}]|$)/iy

/** Whether there is a number so small that a double may lose digits of it, or all. */
function underflows (text: string): boolean {
  for (let at = text.indexOf('-', 1); at !== -1; at = text.indexOf('-', at + 1)) {
    if ((text.charCodeAt(at - 1) | 0x20) === 0x65 && isAt(text, at - 1, tiny)) return true
  }
  return false
}

function isAt (text: string, at: number, pattern: RegExp): boolean {
  pattern.lastIndex = at
  return pattern.test(text)
}
