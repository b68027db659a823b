import type { JsonSchema } from '../storage/contract.ts'
import type { Format, Links } from './format.ts'

// draft-kelly-json-hal-11: the properties of the item beside `_links`; a list is `_embedded.items`.

/** The name is reserved (section 4.1): an item that is open to any property cannot bring links of its own. */
function resource (item: object, links: Links): object {
  return Object.assign({ _links: links }, item, { _links: links })
}

/** `application/hal+json`: JSON with links. Add it to `formats` of a definition. */
export const hal: Format = {
  name: 'hal',
  mediaType: 'application/hal+json',
  item: (item, links) => JSON.stringify(resource(item, links)),
  list: (items, links) => JSON.stringify({
    _links: links.list,
    _embedded: { items: items.map((item, index) => resource(item, links.items[index] ?? {})) }
  }),
  describe: schema => schema.type === 'array'
    ? { type: 'object', required: ['_links', '_embedded'], properties: { _links: linked, _embedded: { type: 'object', required: ['items'], properties: { items: { ...schema, items: described(schema.items as JsonSchema) } } } } }
    : described(schema)
}

function described (schema: JsonSchema): JsonSchema {
  return { ...schema, required: ['_links', ...schema.required ?? []], properties: { _links: linked, ...schema.properties } }
}

/** RFC 3986 sets no limit, but a reference that is longer could not be followed here. */
const href = { type: 'string', format: 'uri-reference', maxLength: 16_384 }
const link = { type: 'object', required: ['href'], properties: { href, title: { type: 'string', maxLength: 16_384, pattern: '^[^\\u0000]*$' } } }
const linked = { type: 'object', properties: Object.fromEntries(['self', 'collection', 'up', 'first', 'prev', 'next'].map(relation => [relation, link])) }
