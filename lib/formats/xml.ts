// RFC 7303: application/xml. One item is <item>, a list is <items>, each property an element of its name.

import type { Format } from './format.ts'
import { description } from './xml/description.ts'
import { read } from './xml/reader.ts'
import { write } from './xml/writer.ts'

const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n'

/** `application/xml`: XML whose elements are the properties. Add it to `formats` of a definition. */
export const xml: Format = {
  name: 'xml',
  mediaType: 'application/xml',

  parse: read,

  item (item, _links, schema) {
    return declaration + write(item, schema)
  },

  list (items, _links, schema) {
    return list(items.map(item => write(item, schema)))
  },

  join (items) {
    return list(items.map(item => item.slice(declaration.length)))
  },

  describe: description
}

function list (items: readonly string[]): string {
  return items.length === 0 ? declaration + '<items/>' : declaration + '<items>' + items.join('') + '</items>'
}
