// XML 1.0, section 3: formats a value as elements.

import { escapeText, invalidCharacter } from './characters.ts'
import { encodeName } from './name.ts'
import { createElementType, getRoot } from './typing.ts'
import { escapeJson, getKind } from './values.ts'
import type { JsonSchema } from '../../storage/contract.ts'
import type { ElementType, Typing } from './typing.ts'

/** Formats a value as XML, without the declaration. */
export function formatXml (value: unknown, schema: JsonSchema): string {
  return formatElement(getRoot(schema), value)
}

function formatElement (type: ElementType, value: unknown): string {
  const kind = getKind(value)
  let attributes = kind === type.typing.kind ? '' : ` type="${kind}"`
  let content = ''
  if (typeof value === 'string') {
    content = value
    if (specialCharacter.test(value)) {
      const needsJson = invalidCharacter.test(value)
      if (needsJson) attributes += ' escape="json"'
      content = escapeText(needsJson ? escapeJson(value) : value)
    }
  } else if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      content += formatElement(type.typing.getItem(index), value[index])
    }
  } else if (typeof value === 'object' && value !== null) {
    content = formatProperties(value, type.typing)
  } else if (kind !== 'null') {
    content = String(value)
  }
  if (content === '') return `<${type.element}${attributes}/>`
  return (attributes === '' ? type.startTag : `<${type.element}${attributes}>`) + content + type.endTag
}

function formatProperties (object: object, typing: Typing): string {
  const known = typing.properties
  let content = ''
  for (const name of Object.keys(object)) {
    const value: unknown = Reflect.get(object, name)
    if (value === undefined) continue
    content += formatElement(known.get(name) ?? createElementType(encodeName(name), typing.others), value)
  }
  return content
}

/** A character that may need an escape. Most strings have none. */
const specialCharacter = /[^\t\n\x20-\x25\x27-\x3B=\x3F-\uD7FF\uE000-\uFFFD]/
