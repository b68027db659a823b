// RFC 7303: application/xml. An item is <item>, a list is <items>, and each property is an element with its name.

import type { Format } from './format.ts'
import { describeXml } from './xml/description.ts'
import { parseXml } from './xml/reader.ts'
import { formatXml } from './xml/writer.ts'

const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n'

/** `application/xml`: XML whose elements are the properties. Add it to `formats` of a definition. */
export const xml: Format = {
  name: 'xml',
  mediaType: 'application/xml',
  keepsItems: true,

  parse: parseXml,

  item (item, _links, schema) {
    return declaration + formatXml(item, schema)
  },

  list (items, _links, schema) {
    if (items.length === 0) return declaration + '<items/>'
    return declaration + '<items>' + items.map((item) => formatXml(item, schema)).join('') + '</items>'
  },

  hasLinks: false,
  describe: describeXml
}
