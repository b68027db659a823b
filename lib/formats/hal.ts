import type { Format, Links } from './format.ts'

// draft-kelly-json-hal-11: the members of the item beside `_links`; a list is `_embedded.items`.

/** The name is reserved (section 4.1): an item that is open to any member cannot bring links of its own. */
function resource (item: object, links: Links): object {
  return Object.assign({ _links: links }, item, { _links: links })
}

export const hal: Format = {
  name: 'hal',
  mediaType: 'application/hal+json',
  item: (item, links) => JSON.stringify(resource(item, links)),
  list: (items, links) => JSON.stringify({
    _links: links.list,
    _embedded: { items: items.map((item, index) => resource(item, links.items[index] ?? {})) }
  }),
  describe: schema => schema.type === 'array'
    ? { type: 'object', required: ['_links', '_embedded'], properties: { _links: linked, _embedded: { type: 'object', properties: { items: schema } } } }
    : { ...schema, properties: { _links: linked, ...schema.properties } }
}

const linked = {
  type: 'object',
  additionalProperties: { type: 'object', required: ['href'], properties: { href: { type: 'string' }, title: { type: 'string' } } }
}
