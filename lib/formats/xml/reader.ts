// XML 1.0, section 3: parses elements to the values that a schema expects.

import { explainInexact, isExactDouble } from '../decimal.ts'
import { isBlank } from './characters.ts'
import { decodeName } from './name.ts'
import { Scanner } from './scanner.ts'
import { getListRoot, getRoot } from './typing.ts'
import { parseKind, parseLeaf, unescapeJson } from './values.ts'
import type { JsonSchema } from '../../storage/contract.ts'
import type { Kind } from './values.ts'
import type { ElementType, Typing } from './typing.ts'

/** How deep arrays and objects can be nested. */
const maxDepth = 64

/**
 * Parses XML content: one value that has the schema, or several in `<items>`. Throws `Malformed`.
 * Text of the wrong kind stays a string, which the validation refuses.
 */
export function parseXml (content: Buffer, schema: JsonSchema): unknown {
  return new XmlReader(content).readRoot(schema)
}

type Tag = Pick<ElementType, 'element' | 'typing'>

/** What the attributes of an element state about its content. */
interface Hints {
  readonly type: Kind | undefined
  readonly escaped: boolean
}

const noHints: Hints = { type: undefined, escaped: false }

interface LeafText {
  readonly text: string
  readonly start: number
}

class XmlReader {
  readonly #scanner: Scanner
  #depth = 0

  constructor (content: Buffer) {
    this.#scanner = new Scanner(content)
  }

  readRoot (schema: JsonSchema): unknown {
    this.#scanner.skipProlog()
    const start = this.#scanner.at
    const element = this.#scanner.readStartTag()
    const root = [getRoot(schema), getListRoot(schema)].find((candidate) => candidate.element === element)
    if (root === undefined) {
      this.#scanner.fail(`the root element <${getRoot(schema).element}> was expected`, start)
    }
    const value = this.#readValue(root)
    this.#scanner.skipMisc()
    if (!this.#scanner.isFinished) this.#scanner.fail('the end of the content was expected')
    return value
  }

  /** Reads an element after its name. */
  #readValue ({ element, typing }: Tag): unknown {
    const hints = this.#readHints()
    const start = this.#scanner.at
    if (this.#scanner.skip('/>')) return this.#parseLeaf({ text: '', start }, hints, typing)
    if (!this.#scanner.skip('>')) this.#scanner.fail('an attribute or the end of the tag was expected')
    const text = this.#scanner.readText()
    let value: unknown
    if (this.#scanner.skip('</')) {
      value = this.#parseLeaf({ text, start }, hints, typing)
    } else {
      if (!isBlank(text)) this.#scanner.fail('an element cannot contain both text and elements', start)
      if (++this.#depth > maxDepth) this.#scanner.fail(`the content is nested deeper than ${maxDepth} levels`)
      const kind = hints.type ?? typing.kind
      if (kind === 'array') value = this.#readArray(typing)
      else if (kind === 'object' || hints.type === undefined) value = this.#readObject(typing, element)
      else this.#scanner.fail(`an element of type "${kind}" cannot contain elements`)
      this.#depth--
    }
    this.#scanner.readEndTag(element)
    return value
  }

  #readHints (): Hints {
    const start = this.#scanner.at
    const attributes = this.#scanner.readAttributes()
    if (attributes.size === 0) return noHints
    const { type, escape, ...others } = Object.fromEntries(attributes)
    if (Object.keys(others).length > 0) {
      this.#scanner.fail('an element can have the attributes "type" and "escape" only', start)
    }
    const kind = type === undefined ? undefined : parseKind(type)
    if (kind !== type) {
      this.#scanner.fail('the type must be string, number, boolean, null, array or object', start)
    }
    if (escape === undefined) return { type: kind, escaped: false }
    if (escape !== 'json' || (kind ?? 'string') !== 'string') {
      this.#scanner.fail('the attribute "escape" can only be "json", and only on a string', start)
    }
    return { type: 'string', escaped: true }
  }

  #parseLeaf ({ text, start }: LeafText, { type, escaped }: Hints, typing: Typing): unknown {
    if (escaped) {
      const unescaped = unescapeJson(text) ?? this.#scanner.fail('this is not escaped as in a JSON string', start)
      return this.#checkString(unescaped, start)
    }
    const value = parseLeaf(text, type ?? typing.kind)
    if (value === undefined && type !== undefined) this.#scanner.fail(`this is not of the type "${type}"`, start)
    if (typeof value === 'number' && !isExactDouble(text.trim())) {
      this.#scanner.fail(`this number ${explainInexact(text.trim())}`, start)
    }
    return value === undefined ? text : value
  }

  #readArray (typing: Typing): unknown[] {
    const array: unknown[] = []
    this.#readChildren((element, start) => {
      if (element !== 'item') this.#scanner.fail('an array can contain <item> elements only', start)
      array.push(this.#readValue(typing.getItem(array.length)))
    })
    return array
  }

  #readObject (typing: Typing, parent: string): Record<string, unknown> {
    const object: Record<string, unknown> = {}
    this.#readChildren((element, start) => {
      const name = decodeName(element)
      if (name !== element) this.#checkString(name, start)
      if (name === '__proto__') this.#scanner.fail('a member cannot be named "__proto__"', start)
      if (name === 'prototype' && parent === 'constructor') {
        this.#scanner.fail('a "constructor" cannot have a "prototype"', start)
      }
      if (Object.hasOwn(object, name)) this.#scanner.fail('the member occurs more than once', start)
      object[name] = this.#readValue({ element, typing: typing.properties.get(name)?.typing ?? typing.others })
    })
    return object
  }

  #readChildren (readChild: (element: string, start: number) => void): void {
    do {
      const start = this.#scanner.at
      readChild(this.#scanner.readStartTag(), start)
      const end = this.#scanner.at
      if (!isBlank(this.#scanner.readText())) {
        this.#scanner.fail('an element cannot contain both text and elements', end)
      }
    } while (!this.#scanner.skip('</'))
  }

  /** RFC 7493, section 2.1; the same rules as for application/json. */
  #checkString (text: string, start: number): string {
    if (text.includes('\0')) this.#scanner.fail('a string cannot contain U+0000', start)
    if (/\p{Surrogate}/u.test(text)) this.#scanner.fail('a string cannot contain half of a surrogate pair', start)
    return text
  }
}
