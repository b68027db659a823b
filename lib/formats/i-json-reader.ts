// RFC 8259 and RFC 7493: a slow, exact JSON parser that reports what is wrong, and where.

import { toPointer } from '../http/json-pointer.ts'
import { explainInexact, isExactDouble } from './decimal.ts'
import { toMalformed } from './format.ts'

/** How deep arrays and objects can be nested. */
export const maxDepth = 64

/** Throws `Malformed` for the first error in the text. */
export function readIJson (text: string): unknown {
  return new JsonReader(text).readContent()
}

const numberPattern = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const literalPattern = /true|false|null/y
const whitespacePattern = /[ \t\n\r]*/y
const escapePattern = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y
const plainPattern = /[^"\\\0-\x1f]*/y // eslint-disable-line no-control-regex
const loneSurrogate = /[\uD800-\uDFFF]/u

class JsonReader {
  readonly #text: string
  readonly #path: Array<string | number> = []
  #at = 0

  constructor (text: string) {
    this.#text = text
  }

  readContent (): unknown {
    const value = this.#readValue()
    if (this.#at < this.#text.length) this.#fail('the end of the content was expected')
    return value
  }

  #readValue (): unknown {
    this.#skip(whitespacePattern)
    const value = this.#readBareValue()
    this.#skip(whitespacePattern)
    return value
  }

  #readBareValue (): unknown {
    const start = this.#at
    const next = this.#text[start]
    if (next === '{') return this.#readObject()
    if (next === '[') return this.#readArray()
    if (next === '"') return this.#readString()
    if (!this.#skip(literalPattern)) this.#readNumber()
    return JSON.parse(this.#text.slice(start, this.#at))
  }

  #readObject (): unknown {
    const object: Record<string, unknown> = {}
    const parent = this.#path.at(-1)
    this.#enter()
    for (let first = true; !this.#readEndOrComma('}', first); first = false) {
      const start = this.#at
      if (this.#text[start] !== '"') this.#fail('a member name was expected')
      const name = this.#readString()
      if (name === '__proto__') this.#fail('a member cannot be named "__proto__"', start)
      if (name === 'prototype' && parent === 'constructor') {
        this.#fail('a "constructor" cannot have a "prototype"', start)
      }
      this.#path.push(name)
      if (Object.hasOwn(object, name)) this.#fail(`the member ${this.#formatPath()} occurs more than once`, start)
      this.#skip(whitespacePattern)
      if (this.#text[this.#at] !== ':') this.#fail('":" was expected')
      this.#at++
      object[name] = this.#readValue()
      this.#path.pop()
    }
    return object
  }

  #readArray (): unknown {
    const array: unknown[] = []
    this.#enter()
    while (!this.#readEndOrComma(']', array.length === 0)) {
      this.#path.push(array.length)
      array.push(this.#readValue())
      this.#path.pop()
    }
    return array
  }

  #enter (): void {
    if (this.#path.length === maxDepth) this.#fail(`the content is nested deeper than ${maxDepth} levels`)
    this.#at++
    this.#skip(whitespacePattern)
  }

  /** Reads the end of an array or object, or the comma between two elements. Returns true at the end. */
  #readEndOrComma (end: string, first: boolean): boolean {
    const next = this.#text[this.#at]
    if (next === end) {
      this.#at++
      return true
    }
    if (first) return false
    if (next !== ',') this.#fail(`"," or "${end}" was expected`)
    this.#at++
    this.#skip(whitespacePattern)
    return false
  }

  #readString (): string {
    const start = this.#at++
    for (this.#skip(plainPattern); this.#text[this.#at] !== '"'; this.#skip(plainPattern)) {
      if (!this.#skip(escapePattern)) this.#fail('a character or an escape of a string was expected')
    }
    const value: string = JSON.parse(this.#text.slice(start, ++this.#at))
    if (value.includes('\0')) this.#fail('a string cannot contain U+0000', start)
    if (loneSurrogate.test(value)) this.#fail('a string cannot contain half of a surrogate pair', start)
    return value
  }

  #readNumber (): void {
    const start = this.#at
    if (!this.#skip(numberPattern)) this.#fail('a value was expected')
    const literal = this.#text.slice(start, this.#at)
    if (!isExactDouble(literal)) this.#fail(`the number ${this.#formatPath()} ${explainInexact(literal)}`, start)
  }

  #skip (pattern: RegExp): boolean {
    pattern.lastIndex = this.#at
    const isMatch = pattern.test(this.#text)
    if (isMatch) this.#at = pattern.lastIndex
    return isMatch
  }

  #formatPath (): string {
    return `at "${toPointer(this.#path)}"`
  }

  #fail (message: string, at = this.#at): never {
    throw toMalformed(message, this.#text.slice(0, at))
  }
}
