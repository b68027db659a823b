// XML 1.0 §3: a value as elements.

import { escapeText, noCharacter } from './character.ts'
import { kindOf } from './kind.ts'
import { escapeJson } from './leaf.ts'
import { encodeName } from './name.ts'
import { property, rootOf } from './typing.ts'
import type { JsonSchema } from '../../storage/contract.ts'
import type { Property, Typing } from './typing.ts'

export function write (value: unknown, schema: JsonSchema): string {
  return element(rootOf(schema), value)
}

function element (property: Property, value: unknown): string {
  const kind = kindOf(value)
  let attributes = kind === property.typing.kind ? '' : ` type="${kind}"`
  let content = ''
  if (typeof value === 'string') {
    content = value
    if (special.test(value)) {
      const unsayable = noCharacter.test(value)
      if (unsayable) attributes += ' escape="json"'
      content = escapeText(unsayable ? escapeJson(value) : value)
    }
  } else if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) content += element(property.typing.item(index), value[index])
  } else if (typeof value === 'object' && value !== null) {
    content = properties(value, property.typing)
  } else if (kind !== 'null') {
    content = String(value)
  }
  if (content === '') return `<${property.element}${attributes}/>`
  return (attributes === '' ? property.startTag : `<${property.element}${attributes}>`) + content + property.endTag
}

function properties (object: object, typing: Typing): string {
  const known = typing.properties
  let content = ''
  for (const name of Object.keys(object)) {
    const value: unknown = Reflect.get(object, name)
    if (value !== undefined) content += element(known.get(name) ?? property(encodeName(name), typing.others), value)
  }
  return content
}

/** Not one of the characters that most strings consist of. */
const special = /[^\t\n\x20-\x25\x27-\x3B=\x3F-\uD7FF\uE000-\uFFFD]/
