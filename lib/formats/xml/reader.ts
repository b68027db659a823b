// XML 1.0 §3: elements as the values that a schema leads to expect.

import { keeps } from '../decimal.ts'
import { isBlank } from './character.ts'
import { kindNamed } from './kind.ts'
import { leaf, unescapeJson } from './leaf.ts'
import { decodeName } from './name.ts'
import { Scanner } from './scanner.ts'
import { rootOf } from './typing.ts'
import type { JsonSchema } from '../../storage/contract.ts'
import type { Kind } from './kind.ts'
import type { Property, Typing } from './typing.ts'

/** How deep arrays and objects can be nested. */
const deepest = 64

/** Throws `Malformed`. A text that does not fit the schema stays a string: it is the validation that refuses it, by its pointer. */
export function read (content: Buffer, schema: JsonSchema): unknown {
  return new Reader(content).root(rootOf(schema))
}

type Tag = Pick<Property, 'element' | 'typing'>

/** What an element says of its content. */
interface Hints {
  readonly type: Kind | undefined
  readonly escaped: boolean
}

const noHints: Hints = { type: undefined, escaped: false }

class Reader {
  readonly #scanner: Scanner
  #depth = 0

  constructor (content: Buffer) {
    this.#scanner = new Scanner(content)
  }

  root (root: Tag): unknown {
    this.#scanner.prolog()
    const start = this.#scanner.at
    if (this.#scanner.open() !== root.element) this.#scanner.fault(`the root element <${root.element}> was expected`, start)
    const value = this.#value(root)
    this.#scanner.misc()
    if (!this.#scanner.finished) this.#scanner.fault('the end of the content was expected')
    return value
  }

  /** Of an element whose name is read already. */
  #value ({ element, typing }: Tag): unknown {
    const hints = this.#hints()
    const start = this.#scanner.at
    if (this.#scanner.skip('/>')) return this.#leaf({ text: '', start }, hints, typing)
    if (!this.#scanner.skip('>')) this.#scanner.fault('an attribute or the end of the tag was expected')
    const text = this.#scanner.text()
    let value: unknown
    if (this.#scanner.skip('</')) {
      value = this.#leaf({ text, start }, hints, typing)
    } else {
      if (!isBlank(text)) this.#scanner.fault('text and elements cannot stand side by side', start)
      if (++this.#depth > deepest) this.#scanner.fault(`the content is nested deeper than ${deepest} levels`)
      const kind = hints.type ?? typing.kind
      if (kind === 'array') value = this.#array(typing)
      else if (kind === 'object' || hints.type === undefined) value = this.#object(typing, element)
      else this.#scanner.fault(`an element of type "${kind}" cannot hold elements`)
      this.#depth--
    }
    this.#scanner.close(element)
    return value
  }

  #hints (): Hints {
    const start = this.#scanner.at
    const attributes = this.#scanner.attributes()
    if (attributes.size === 0) return noHints
    const { type, escape, ...others } = Object.fromEntries(attributes)
    if (Object.keys(others).length > 0) this.#scanner.fault('an element can have the attributes "type" and "escape" only', start)
    const kind = type === undefined ? undefined : kindNamed(type)
    if (kind !== type) this.#scanner.fault('the type is none of string, number, boolean, null, array and object', start)
    if (escape === undefined) return { type: kind, escaped: false }
    if (escape !== 'json' || (kind ?? 'string') !== 'string') this.#scanner.fault('the escape can be "json" only, and of a string only', start)
    return { type: 'string', escaped: true }
  }

  #leaf ({ text, start }: { text: string, start: number }, { type, escaped }: Hints, typing: Typing): unknown {
    if (escaped) return this.#sound(unescapeJson(text) ?? this.#scanner.fault('this is not escaped as in a JSON string', start), start)
    const value = leaf(text, type ?? typing.kind)
    if (value === undefined && type !== undefined) this.#scanner.fault(`this is not of the type "${type}"`, start)
    if (typeof value === 'number' && !keeps(text.trim())) this.#scanner.fault('this number does not fit in a double', start)
    return value === undefined ? text : value
  }

  #array (typing: Typing): unknown[] {
    const array: unknown[] = []
    this.#children((element, start) => {
      if (element !== 'item') this.#scanner.fault('an array holds <item> elements only', start)
      array.push(this.#value(typing.item(array.length)))
    })
    return array
  }

  #object (typing: Typing, parent: string): Record<string, unknown> {
    const object: Record<string, unknown> = {}
    this.#children((element, start) => {
      const name = decodeName(element)
      if (name !== element) this.#sound(name, start)
      if (name === '__proto__') this.#scanner.fault('a member cannot be named "__proto__"', start)
      if (name === 'prototype' && parent === 'constructor') this.#scanner.fault('a "constructor" cannot have a "prototype"', start)
      if (Object.hasOwn(object, name)) this.#scanner.fault('the member occurs more than once', start)
      object[name] = this.#value({ element, typing: typing.properties.get(name)?.typing ?? typing.others })
    })
    return object
  }

  #children (child: (element: string, start: number) => void): void {
    do {
      const start = this.#scanner.at
      child(this.#scanner.open(), start)
      const end = this.#scanner.at
      if (!isBlank(this.#scanner.text())) this.#scanner.fault('text and elements cannot stand side by side', end)
    } while (!this.#scanner.skip('</'))
  }

  /** RFC 7493 §2.1, and the same as in content of application/json. */
  #sound (text: string, start: number): string {
    if (text.includes('\0')) this.#scanner.fault('a string cannot hold U+0000', start)
    if (/\p{Surrogate}/u.test(text)) this.#scanner.fault('a string cannot hold half of a surrogate pair', start)
    return text
  }
}
