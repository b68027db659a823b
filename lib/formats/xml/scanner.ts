// XML 1.0 without DTDs, processing instructions and namespaces: reads tags and text from left to right.

import { toMalformed } from '../format.ts'
import { decodeXml, getEntity, parseCharacterCode } from './characters.ts'
import { nameToken } from './name.ts'

const spacePattern = /[ \t\n]+/y
const equalsPattern = /[ \t\n]*=[ \t\n]*/y
const quotedPattern = /"[^"<]*"|'[^'<]*'/y
const tagEndPattern = /[ \t\n]*>/y
const referencePattern = /&(?:#(\d+|x[\dA-Fa-f]+)|(\w+));|&/g

export class Scanner {
  readonly #text: string
  #at = 0

  constructor (content: Buffer) {
    this.#text = decodeXml(content)
  }

  get at (): number {
    return this.#at
  }

  get isFinished (): boolean {
    return this.#at === this.#text.length
  }

  /** Skips what can come before the root element (XML 1.0, section 2.8). */
  skipProlog (): void {
    if (/^<\?xml[ \t\n?]/.test(this.#text)) this.#readDeclaration()
    this.skipMisc()
  }

  /** Skips white space and comments outside the root element. */
  skipMisc (): void {
    do {
      this.#take(spacePattern)
    } while (this.#skipComment())
  }

  /** Reads text, references, comments and CDATA sections up to the next tag. */
  readText (): string {
    let text = ''
    for (;;) {
      const end = this.#text.indexOf('<', this.#at)
      if (end === -1) this.fail('the content ends inside an element', this.#text.length)
      if (end > this.#at) text += this.#readCharacters(end)
      if (this.skip('<![CDATA[')) text += this.#readUntil(']]>')
      else if (!this.#skipComment()) return text
    }
  }

  /** Reads the `<` and the name of a start tag. */
  readStartTag (): string {
    const start = this.#at
    if (!this.skip('<')) this.fail('an element was expected')
    const name = this.#readName()
    if (name !== undefined) return name
    if (this.skip('!')) this.fail('a document type or other declaration is not allowed', start)
    if (this.skip('?')) this.fail('a processing instruction is not allowed', start)
    this.fail('the name of an element was expected')
  }

  /** Reads the attributes of a start tag. */
  readAttributes (): Map<string, string> {
    const attributes = new Map<string, string>()
    while (this.#take(spacePattern) !== undefined) {
      const start = this.#at
      const name = this.#readName()
      if (name === undefined) break
      if (this.#take(equalsPattern) === undefined) this.fail('"=" was expected')
      const value = this.#take(quotedPattern)
      if (value === undefined) this.fail('the value of an attribute was expected, in quotes')
      if (attributes.has(name)) this.fail('the attribute occurs more than once', start)
      attributes.set(name, value.slice(1, -1))
    }
    return attributes
  }

  /** Reads an end tag after its `</`. */
  readEndTag (name: string): void {
    const start = this.#at
    if (!this.skip(name) || this.#take(tagEndPattern) === undefined) {
      this.fail('the end tag does not match the start tag', start)
    }
  }

  skip (characters: string): boolean {
    const found = this.#text.startsWith(characters, this.#at)
    if (found) this.#at += characters.length
    return found
  }

  /** Throws `Malformed`. */
  fail (message: string, at = this.#at): never {
    throw toMalformed(message, this.#text.slice(0, at))
  }

  #readDeclaration (): void {
    this.skip('<?xml')
    const attributes = this.readAttributes()
    const { version = '', encoding = 'UTF-8', standalone = 'no' } = Object.fromEntries(attributes)
    const isValid = this.skip('?>') &&
      /^version(?:,encoding)?(?:,standalone)?$/.test([...attributes.keys()].join()) &&
      /^1\.\d+$/.test(version) &&
      /^(?:yes|no)$/.test(standalone)
    if (!isValid) this.fail('the XML declaration is malformed', 0)
    if (encoding.toUpperCase() !== 'UTF-8') this.fail('the encoding is not UTF-8', 0)
  }

  #readName (): string | undefined {
    const name = this.#take(nameToken)
    if (this.#text[this.#at] === ':') this.fail('a name cannot have a prefix: namespaces are not supported')
    return name
  }

  #take (token: RegExp): string | undefined {
    token.lastIndex = this.#at
    const found = token.exec(this.#text)?.[0]
    if (found !== undefined) this.#at += found.length
    return found
  }

  #skipComment (): boolean {
    if (!this.skip('<!--')) return false
    this.#readUntil('--')
    if (!this.skip('>')) this.fail('a comment cannot contain "--"', this.#at - 2)
    return true
  }

  #readUntil (end: string): string {
    const start = this.#at
    const found = this.#text.indexOf(end, start)
    if (found === -1) this.fail(`"${end}" is missing`, this.#text.length)
    this.#at = found + end.length
    return this.#text.slice(start, found)
  }

  #readCharacters (end: number): string {
    const start = this.#at
    const text = this.#text.slice(start, end)
    this.#at = end
    const section = text.indexOf(']]>')
    if (section !== -1) this.fail('text cannot contain "]]>"', start + section)
    if (!text.includes('&')) return text
    return text.replace(referencePattern, (_match, code: string | undefined, name = '', offset: number) => {
      const character = code === undefined ? getEntity(name) : parseCharacterCode(code)
      if (character !== undefined) return character
      this.fail('"&" must be followed by one of the five entities or a character code', start + offset)
    })
  }
}
