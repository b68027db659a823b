// RFC 8259 and RFC 7493: reads a JSON text slowly and exactly, and says what is wrong with it, and where.

import { pointer } from '../http/json-pointer.ts'
import { keeps } from './decimal.ts'
import { Malformed } from './format.ts'

/** How deep arrays and objects can be nested. */
export const deepest = 64

/** Throws `Malformed` for the first fault in the text. */
export function readIJson (text: string): unknown {
  return new Reader(text).content()
}

const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const literal = /true|false|null/y
const whitespace = /[ \t\n\r]*/y
const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y
const plain = /[^"\\\0-\x1f]*/y // eslint-disable-line no-control-regex
const lone = /[\uD800-\uDFFF]/u

class Reader {
  readonly #text: string
  readonly #path: Array<string | number> = []
  #at = 0

  constructor (text: string) {
    this.#text = text
  }

  content (): unknown {
    const value = this.#value()
    if (this.#at < this.#text.length) this.#fault('the end of the content was expected')
    return value
  }

  #value (): unknown {
    this.#take(whitespace)
    const value = this.#bare()
    this.#take(whitespace)
    return value
  }

  #bare (): unknown {
    const start = this.#at
    const next = this.#text[start]
    if (next === '{') return this.#object()
    if (next === '[') return this.#array()
    if (next === '"') return this.#string()
    if (!this.#take(literal)) this.#number()
    return JSON.parse(this.#text.slice(start, this.#at))
  }

  #object (): unknown {
    const object: Record<string, unknown> = {}
    const parent = this.#path.at(-1)
    this.#open()
    for (let first = true; !this.#closes('}', first); first = false) {
      const start = this.#at
      if (this.#text[start] !== '"') this.#fault('a member name was expected')
      const name = this.#string()
      if (name === '__proto__') this.#fault('a member cannot be named "__proto__"', start)
      if (name === 'prototype' && parent === 'constructor') this.#fault('a "constructor" cannot have a "prototype"', start)
      this.#path.push(name)
      if (Object.hasOwn(object, name)) this.#fault(`the member ${this.#pointer()} occurs more than once`, start)
      this.#take(whitespace)
      if (this.#text[this.#at] !== ':') this.#fault('":" was expected')
      this.#at++
      object[name] = this.#value()
      this.#path.pop()
    }
    return object
  }

  #array (): unknown {
    const array: unknown[] = []
    this.#open()
    while (!this.#closes(']', array.length === 0)) {
      this.#path.push(array.length)
      array.push(this.#value())
      this.#path.pop()
    }
    return array
  }

  #open (): void {
    if (this.#path.length === deepest) this.#fault(`the content is nested deeper than ${deepest} levels`)
    this.#at++
    this.#take(whitespace)
  }

  /** Takes the end of an array or object, or what stands between two of its members. */
  #closes (end: string, first: boolean): boolean {
    const next = this.#text[this.#at]
    if (next === end) {
      this.#at++
      return true
    }
    if (first) return false
    if (next !== ',') this.#fault(`"," or "${end}" was expected`)
    this.#at++
    this.#take(whitespace)
    return false
  }

  #string (): string {
    const start = this.#at++
    for (this.#take(plain); this.#text[this.#at] !== '"'; this.#take(plain)) {
      if (!this.#take(escape)) this.#fault('a character or an escape of a string was expected')
    }
    const value: string = JSON.parse(this.#text.slice(start, ++this.#at))
    if (value.includes('\0')) this.#fault('a string cannot hold U+0000', start)
    if (lone.test(value)) this.#fault('a string cannot hold half of a surrogate pair', start)
    return value
  }

  #number (): void {
    const start = this.#at
    if (!this.#take(number)) this.#fault('a value was expected')
    if (!keeps(this.#text.slice(start, this.#at))) this.#fault(`the number ${this.#pointer()} does not fit in a double`, start)
  }

  #take (pattern: RegExp): boolean {
    pattern.lastIndex = this.#at
    const taken = pattern.test(this.#text)
    if (taken) this.#at = pattern.lastIndex
    return taken
  }

  #pointer (): string {
    return `at "${pointer(this.#path)}"`
  }

  #fault (what: string, at = this.#at): never {
    const before = this.#text.slice(0, at)
    const line = before.split('\n').length
    const column = Array.from(before.slice(before.lastIndexOf('\n') + 1)).length + 1
    throw new Malformed(`Line ${line}, column ${column}: ${what}.`)
  }
}
