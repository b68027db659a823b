import type { JsonSchema } from '../storage/contract.ts'
import { textPattern } from './format.ts'
import type { Format } from './format.ts'
import type { Embedded, Links } from '../http/link.ts'

// draft-kelly-json-hal-11: `_links` beside the properties of an item; the items of a list are in `_embedded.items`, and
// related items in `_embedded`, by the names of their relations.

/** `_links` is first, and wins over a property of the item: the name is reserved (section 4.1). */
function toResource (item: object, links: Links): object {
  return Object.assign({ _links: links }, item, { _links: links })
}

/** `application/hal+json`: JSON with links. Add it to `formats` of a definition. */
export const hal: Format = {
  name: 'hal',
  mediaType: 'application/hal+json',
  keepsItems: true,
  item: (item, links) => JSON.stringify(toResource(item, links)),
  list: (items, links) => JSON.stringify({
    _links: links.list,
    _embedded: { items: items.map((item, index) => toResource(item, links.items[index] ?? {})) }
  }),
  describe: (schema) => schema.type === 'array' ? describeList(schema) : describeItem(schema),
  embed: { write: embed, describe: describeEmbedded }
}

/** A list is a resource of its own, with its links. A resource that does not exist is left out. */
function embed (related: Embedded): object {
  const resources: Record<string, object> = {}
  for (const [name, included] of Object.entries(related)) {
    if (included === undefined) continue
    resources[name] = 'item' in included
      ? toResource(included.item, included.links)
      : {
          _links: included.links.list,
          ...included.total !== undefined && { total: included.total },
          _embedded: {
            items: included.items.map((item, index) => toResource(item, included.links.items[index] ?? {}))
          }
        }
  }
  return { _embedded: resources }
}

function describeEmbedded (related: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> {
  const properties = Object.entries(related).map(([name, schema]) => {
    return [name, schema.type === 'array' ? describeItems(schema, { total: totalSchema }) : schema]
  })
  return { _embedded: { type: 'object', properties: Object.fromEntries(properties) as Record<string, JsonSchema> } }
}

const totalSchema: JsonSchema = { type: 'integer', format: 'int64', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }

function describeList (schema: JsonSchema): JsonSchema {
  return describeItems({ ...schema, items: describeItem(schema.items as JsonSchema) })
}

/** Describes a resource that contains several items, with further properties. */
function describeItems (items: JsonSchema, properties: Readonly<Record<string, JsonSchema>> = {}): JsonSchema {
  return {
    type: 'object',
    required: ['_links', '_embedded'],
    properties: {
      _links: linksSchema,
      ...properties,
      _embedded: { type: 'object', required: ['items'], properties: { items } }
    }
  }
}

function describeItem (schema: JsonSchema): JsonSchema {
  return {
    ...schema,
    required: ['_links', ...schema.required ?? []],
    properties: { _links: linksSchema, ...schema.properties }
  }
}

/** RFC 3986 has no limit, but this server could not be reached by a longer URI. */
const maxLength = 16_384

const linkSchema = {
  type: 'object',
  required: ['href'],
  properties: {
    href: { type: 'string', format: 'uri-reference', maxLength },
    title: { type: 'string', maxLength, pattern: textPattern }
  }
}

const relations = ['self', 'collection', 'up', 'first', 'prev', 'next']
const linksSchema = {
  type: 'object',
  properties: Object.fromEntries(relations.map((relation) => [relation, linkSchema]))
}
