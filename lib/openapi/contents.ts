import type { Collection } from '../collection.ts'
import type { Format } from '../formats/format.ts'
import { mostValues } from '../listing/conditions.ts'
import type { Related } from '../options.ts'
import { patchTypes } from '../items/patch.ts'
import type { JsonSchema } from '../storage/contract.ts'
import type { Components } from './components.ts'
import { exampleItem, seenExample, sentExample } from './examples.ts'
import { jsonPatchExample, jsonPatchSchema } from './json-patch.ts'
import { namesOf, pascal } from './names.ts'
import type { Names } from './names.ts'
import { schemaComponent } from './schema.ts'

/** By media type. */
export type Content = Readonly<Record<string, { readonly schema: JsonSchema, readonly example?: unknown }>>

/** What the messages of one collection hold, in one document. */
export class Contents {
  readonly #components: Components
  readonly #collection: Collection
  readonly #names: Names
  readonly #example: object | undefined

  constructor (components: Components, collection: Collection, prefix: string) {
    this.#components = components
    this.#collection = collection
    this.#names = namesOf(components, collection, prefix)
    this.#example = exampleItem(collection)
  }

  item (): Content {
    const read = readSchema(this.#components, this.#collection)
    return this.#given(format => this.#schema(this.#names.read, read, format), (format, item) => format.item(seenExample(this.#collection, item), links, read))
  }

  list (): Content {
    const { limit: { maximum }, attached: { dialects } } = this.#collection
    const items = readSchema(this.#components, this.#collection)
    // The clients of dialects request as many items as they name.
    const list = { type: 'array', maxItems: dialects.length === 0 ? maximum : Math.max(maximum, mostValues), items }
    return this.#given(format => {
      const schema = format.describe(list)
      return schema === list ? { ...list, items: this.#schema(this.#names.read, items, format) } : schemaComponent(this.#components, this.#names.list + pascal(format.name), schema)
    }, (format, item) => format.list([seenExample(this.#collection, item)], { list: links, items: [links] }, items))
  }

  representation (kind: 'create' | 'replace'): Content {
    const { schemas } = this.#collection
    const schema = (format: Format): JsonSchema => this.#schema(this.#names[kind], schemas[kind], format)
    return this.#given(schema, (format, item) => format.item(sentExample(this.#collection, item), links, schemas[kind]), format => format.parse !== undefined)
  }

  patch (): Content {
    const { schemas, properties } = this.#collection
    const sent = this.#example && sentExample(this.#collection, this.#example)
    const [name, value] = Object.entries(sent ?? {}).find(([name]) => properties.named.get(name)?.immutable === false) ?? []
    const merge = { schema: schemaComponent(this.#components, this.#names.patch, schemas.patch), ...name !== undefined && { example: { [name]: value } } }
    const operations = { schema: this.#components.reference('schemas', 'JsonPatch', () => jsonPatchSchema), ...name !== undefined && { example: jsonPatchExample(name, value) } }
    return Object.fromEntries(patchTypes.map(type => [type, type === 'application/json-patch+json' ? operations : merge]))
  }

  #schema (name: string, schema: JsonSchema, format: Format): JsonSchema {
    const described = format.describe(schema)
    return { ...schemaComponent(this.#components, described === schema ? name : name + pascal(format.name), described) }
  }

  /** Of what is no JSON, an example would be a text, which is not what the schema says. */
  #given (schema: (format: Format) => JsonSchema, write: (format: Format, item: object) => string, wanted: (format: Format) => boolean = () => true): Content {
    const item = this.#example
    return Object.fromEntries(this.#collection.formats.filter(wanted).map(format => [format.mediaType, {
      schema: schema(format),
      ...item !== undefined && /[/+]json$/.test(format.mediaType) && { example: JSON.parse(write(format, item)) as unknown }
    }]))
  }
}

const links = { self: { href: '/example' } }

/** The schema of an item in responses, with what features add to it. */
function readSchema (components: Components, { schemas: { read }, attached }: Pick<Related, 'schemas' | 'attached'>): JsonSchema {
  return attached.readSchemas.reduce((schema, extend) => extend(schema, components), read)
}

/** Refers to the schema of an item of a collection, as a component. */
export function describeReadItem (components: Components, collection: Related): JsonSchema {
  return schemaComponent(components, namesOf(components, collection, '').read, readSchema(components, collection))
}
