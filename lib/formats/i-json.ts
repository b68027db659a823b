// RFC 8259 (JSON) and RFC 7493 (I-JSON): parses application/json without losing information.

import { isUtf8 } from 'node:buffer'
import { isExactDouble } from './decimal.ts'
import { Malformed } from './format.ts'
import { maxDepth, readIJson } from './i-json-reader.ts'

/** Parses JSON content with JSON.parse if that loses nothing, else with the exact parser. Throws `Malformed`. */
export function parseIJson (content: Buffer): unknown {
  if (content.length === 0) throw new Malformed('The content is empty.')
  if (!isUtf8(content)) throw new Malformed('The content is not UTF-8.')
  const text = removeByteOrderMark(content.toString())
  try {
    const value: unknown = JSON.parse(text)
    // Of two members with the same name the value has only one, but the text has a colon for each.
    const hasAllMembers = countMembers(value, 0) === countColons(text) && isClean(Object.prototype)
    if (hasAllMembers && !hasSpecialEscape(text) && !hasInexactNumber(text) && !canUnderflow(text)) return value
  } catch {
    // The messages of JSON.parse differ between versions. The exact parser has its own.
  }
  return readIJson(text)
}

/** RFC 8259, section 8.1, lets a parser ignore a byte order mark. */
function removeByteOrderMark (text: string): string {
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
}

/** Counts the members of a value at all depths. Returns NaN if the exact parser has to check it. */
function countMembers (value: unknown, depth: number): number {
  if (typeof value === 'number') return Number.isFinite(value) ? 0 : NaN
  if (typeof value !== 'object' || value === null) return 0
  if (depth === maxDepth) return NaN
  let count = 0
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) count += countMembers(value[index], depth + 1)
    return count
  }
  // JSON.parse returns plain objects.
  const object = value as Record<string, unknown>
  for (const name in object) {
    if (name === '__proto__' || name === 'constructor') return NaN
    count += 1 + countMembers(object[name], depth + 1)
  }
  return count
}

/** An enumerable property of the prototype would be counted with every object. */
function isClean (prototype: object): boolean {
  return Object.keys(prototype).length === 0
}

/** Counts the colons after names, and those in strings that look like one: never less than the members. */
function countColons (text: string): number {
  let count = 0
  for (let at = text.indexOf(':'); at !== -1; at = text.indexOf(':', at + 1)) {
    const before = text.charCodeAt(at - 1)
    if (before === 0x22 || before <= 0x20) count++
  }
  return count
}

const forbiddenEscape = /\\u(?:0000|d[89a-f])/iy
const surrogatePair = /\\ud[89ab][0-9a-f]{2}\\ud[c-f]/iy
const endOfName = /"\s*:/y

/**
 * Whether an escape means U+0000 or half of a surrogate pair, or is in a name: V8 since 12.8 sometimes confuses such
 * names (https://github.com/nodejs/node/issues/63785).
 */
function hasSpecialEscape (text: string): boolean {
  let quote = 0
  for (let at = text.indexOf('\\'), next; at !== -1; at = next) {
    if (text.charCodeAt(at + 1) === 0x75 && isAt(text, at, forbiddenEscape)) {
      if (!isAt(text, at, surrogatePair)) return true
      at += 6
    }
    next = text.indexOf('\\', at + 2)
    if (quote < at + 2) quote = text.indexOf('"', at + 2)
    if ((next === -1 || next > quote) && isAt(text, quote, endOfName)) return true
  }
  return false
}

/** A double keeps any number of fifteen digits. */
const criticalDigits = 16
const numberPattern = /[0-9.]+(?:e[+-]?[0-9]+)?/iy

/** Whether a number has more digits than its double. Every sixteenth character is checked: a long number has one. */
function hasInexactNumber (text: string): boolean {
  for (let at = criticalDigits - 1; at < text.length; at += criticalDigits) {
    if (!isDigit(text, at)) continue
    let start = at
    while (isDigit(text, start - 1)) start--
    while (isDigit(text, at + 1)) at++
    if (at - start < criticalDigits - 1 || text.charCodeAt(start - 1) === 0x22) continue
    isAt(text, start, numberPattern)
    if (!isExactDouble(text.slice(start, numberPattern.lastIndex))) return true
  }
  return false
}

function isDigit (text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return (code > 0x2f && code < 0x3a) || code === 0x2e
}

const tinyExponent = /e-[0-9]{3,}(?:[\s,\]}]|$)/iy

/** Whether a number is so small that its double may lose digits. */
function canUnderflow (text: string): boolean {
  for (let at = text.indexOf('-', 1); at !== -1; at = text.indexOf('-', at + 1)) {
    if ((text.charCodeAt(at - 1) | 0x20) === 0x65 && isAt(text, at - 1, tinyExponent)) return true
  }
  return false
}

function isAt (text: string, at: number, pattern: RegExp): boolean {
  pattern.lastIndex = at
  return pattern.test(text)
}
