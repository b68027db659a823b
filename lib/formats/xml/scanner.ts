// XML 1.0 without DTDs, processing instructions and namespaces: characters as tags and text, read once from left to right.

import { character, entity } from './character.ts'
import { decode, malformed } from './decoding.ts'
import { nameToken } from './name.ts'

const space = /[ \t\n]+/y
const equals = /[ \t\n]*=[ \t\n]*/y
const quoted = /"[^"<]*"|'[^'<]*'/y
const tagEnd = /[ \t\n]*>/y
const reference = /&(?:#(\d+|x[\dA-Fa-f]+)|(\w+));|&/g

export class Scanner {
  readonly #text: string
  #at = 0

  constructor (content: Buffer) {
    this.#text = decode(content)
  }

  get at (): number {
    return this.#at
  }

  get finished (): boolean {
    return this.#at === this.#text.length
  }

  /** §2.8: what can stand ahead of the root element. */
  prolog (): void {
    if (/^<\?xml[ \t\n?]/.test(this.#text)) this.#declaration()
    this.misc()
  }

  /** White space and comments outside of the root element. */
  misc (): void {
    do this.#take(space)
    while (this.#comment())
  }

  /** Text, references, comments and CDATA sections up to the next tag. */
  text (): string {
    let text = ''
    for (;;) {
      const end = this.#text.indexOf('<', this.#at)
      if (end === -1) this.fault('the content ends inside of an element', this.#text.length)
      if (end > this.#at) text += this.#characters(end)
      if (this.skip('<![CDATA[')) text += this.#until(']]>')
      else if (!this.#comment()) return text
    }
  }

  /** The `<` and the name of a tag. */
  open (): string {
    const start = this.#at
    if (!this.skip('<')) this.fault('an element was expected')
    const name = this.#name()
    if (name !== undefined) return name
    if (this.skip('!')) this.fault('a document type or other declaration is not allowed', start)
    if (this.skip('?')) this.fault('a processing instruction is not allowed', start)
    this.fault('the name of an element was expected')
  }

  /** What stands between the name and the end of a tag. */
  attributes (): Map<string, string> {
    const attributes = new Map<string, string>()
    while (this.#take(space) !== undefined) {
      const start = this.#at
      const name = this.#name()
      if (name === undefined) break
      if (this.#take(equals) === undefined) this.fault('"=" was expected')
      const value = this.#take(quoted)
      if (value === undefined) this.fault('the value of an attribute was expected, in quotes')
      if (attributes.has(name)) this.fault('the attribute occurs more than once', start)
      attributes.set(name, value.slice(1, -1))
    }
    return attributes
  }

  /** What follows the `</` of an end tag. */
  close (name: string): void {
    const start = this.#at
    if (!this.skip(name) || this.#take(tagEnd) === undefined) this.fault('the end tag does not match the start tag', start)
  }

  skip (characters: string): boolean {
    const found = this.#text.startsWith(characters, this.#at)
    if (found) this.#at += characters.length
    return found
  }

  fault (what: string, at = this.#at): never {
    throw malformed(what, this.#text.slice(0, at))
  }

  #declaration (): void {
    this.skip('<?xml')
    const attributes = this.attributes()
    const { version = '', encoding = 'UTF-8', standalone = 'no' } = Object.fromEntries(attributes)
    const sound = this.skip('?>') && /^version(?:,encoding)?(?:,standalone)?$/.test([...attributes.keys()].join()) &&
      /^1\.\d+$/.test(version) && /^(?:yes|no)$/.test(standalone)
    if (!sound) this.fault('the XML declaration is malformed', 0)
    if (encoding.toUpperCase() !== 'UTF-8') this.fault('the encoding is not UTF-8', 0)
  }

  #name (): string | undefined {
    const name = this.#take(nameToken)
    if (this.#text[this.#at] === ':') this.fault('a name cannot have a prefix: namespaces are not supported')
    return name
  }

  #take (token: RegExp): string | undefined {
    token.lastIndex = this.#at
    const found = token.exec(this.#text)?.[0]
    if (found !== undefined) this.#at += found.length
    return found
  }

  #comment (): boolean {
    if (!this.skip('<!--')) return false
    this.#until('--')
    if (!this.skip('>')) this.fault('"--" cannot stand in a comment', this.#at - 2)
    return true
  }

  #until (end: string): string {
    const start = this.#at
    const found = this.#text.indexOf(end, start)
    if (found === -1) this.fault(`"${end}" is missing`, this.#text.length)
    this.#at = found + end.length
    return this.#text.slice(start, found)
  }

  #characters (end: number): string {
    const start = this.#at
    const text = this.#text.slice(start, end)
    this.#at = end
    const section = text.indexOf(']]>')
    if (section !== -1) this.fault('"]]>" cannot stand in text', start + section)
    if (!text.includes('&')) return text
    return text.replace(reference, (_match, code: string | undefined, name = '', offset: number) =>
      (code === undefined ? entity(name) : character(code)) ??
        this.fault('"&" is not followed by the name of one of the five entities or the code of a character', start + offset))
  }
}
