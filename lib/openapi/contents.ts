import type { Collection } from '../engine/collection.ts'
import type { Format, Formatted } from '../formats/format.ts'
import type { CustomAction } from '../engine/action-info.ts'
import { isObject } from '../http/json-value.ts'
import { getValidator } from '../schema/validation.ts'
import { bulkPatchTypes, patchTypes } from '../http/patch-types.ts'
import { buildMatchedSchema } from '../schema/matched.ts'
import type { JsonSchema } from '../storage/contract.ts'
import type { Components } from './components.ts'
import { buildExample, buildExampleItem, chooseStoredExample, toSentExample } from './examples.ts'
import { maxHeaderSize } from './headers.ts'
import { buildJsonPatchExample, jsonPatchSchema } from './json-patch.ts'
import { getSchemaNames, toPascalCase } from './names.ts'
import type { SchemaNames } from './names.ts'
import { buildQueryExample, describeQuery } from './query-content.ts'
import type { Content, DescribedContents } from '../engine/operation-object.ts'
import { findRelated } from './related.ts'
import { addSchemaComponent } from './schema.ts'

interface ContentBuilder {
  readonly schema: (format: Format) => JsonSchema
  readonly item: object | undefined
  readonly writeExample: (format: Format, item: object) => Formatted
}

/** Describes the content of requests and responses of one collection, in one document. */
export class Contents implements DescribedContents {
  readonly #components: Components
  readonly #collection: Collection
  readonly #prefix: string
  readonly #names: SchemaNames
  /** Without that of entries: code generators would give each response two types. */
  readonly #formats: readonly Format[]
  /** The examples of a stored item, and of one that POST creates. */
  readonly #stored: object | undefined
  readonly #created: object | undefined

  constructor (components: Components, collection: Collection, prefix: string) {
    this.#components = components
    this.#collection = collection
    this.#prefix = prefix
    this.#formats = collection.http.formats.filter(({ hasTags }) => hasTags !== true)
    this.#names = getSchemaNames(components, collection, prefix)
    this.#stored = buildExampleItem(collection.type, chooseStoredExample(collection.attached))
    // Another one than that of a stored item: its id or a unique property may exist already.
    this.#created = buildExampleItem(collection.type, 'last')
  }

  item (): Content {
    const schema = this.#collection.type.messages.read
    return this.#build(this.#formats, {
      schema: (format) => describeReadItem(this.#components, this.#collection, { format, prefix: this.#prefix }),
      item: this.#stored,
      writeExample: (format, item) => format.item(this.#collection.type.show(item), links, schema)
    })
  }

  list (): Content {
    const { limit: { maximum: maxItems } } = this.#collection.lists
    const items = this.#collection.type.messages.read
    return this.#build(this.#formats, {
      schema: (format) => {
        const list = { type: 'array', maxItems, items: addRelated(this.#components, this.#collection, items, format) }
        const schema = format.describe(list)
        if (schema === list) {
          const read = { format, prefix: this.#prefix }
          return { ...list, items: describeReadItem(this.#components, this.#collection, read) }
        }
        return addSchemaComponent(this.#components, this.#names.list + toPascalCase(format.name), () => schema)
      },
      item: this.#stored,
      writeExample: (format, item) => (
        format.list([this.#collection.type.show(item)], { list: links, items: [links] }, items)
      )
    })
  }

  representation (kind: 'create' | 'replace'): Content {
    const { type: { messages } } = this.#collection
    return this.#build(this.#formats.filter((format) => format.parse !== undefined), {
      schema: (format) => this.#describeItem(this.#names[kind], messages[kind], format),
      item: kind === 'create' ? this.#created : this.#stored,
      writeExample: (format, item) => format.item(toSentExample(this.#collection.type, item), links, messages[kind])
    })
  }

  /** The content of a POST that creates one item or several. */
  representations (maximum: number): Content {
    const content = this.representation('create')
    return Object.fromEntries(this.#formats.flatMap((format) => {
      const single = content[format.mediaType]
      if (single === undefined) return []
      const array = format.describe({ type: 'array', minItems: 1, maxItems: maximum, items: {} })
      // The schema of a format that is no JSON or XML is the same for one item and for several.
      if (array.type !== 'array') return [[format.mediaType, single]]
      return [[format.mediaType, { ...single, schema: { oneOf: [single.schema, { ...array, items: single.schema }] } }]]
    }))
  }

  patch (): Content {
    const content = this.mergePatch()
    const property = this.#findMutableProperty()
    const jsonPatch = {
      schema: this.#components.reference('schemas', 'JsonPatch', () => jsonPatchSchema),
      ...property && { example: buildJsonPatchExample(property.name, property.value) }
    }
    return Object.fromEntries(patchTypes.map((type) => [type, content[type] ?? jsonPatch]))
  }

  /** The content of a patch that is applied to several items. */
  mergePatch (): Content {
    const property = this.#findMutableProperty()
    const mergePatch = {
      schema: addSchemaComponent(this.#components, this.#names.patch, () => this.#collection.type.messages.patch),
      ...property && { example: { [property.name]: property.value } }
    }
    return Object.fromEntries(bulkPatchTypes.map((type) => [type, mergePatch]))
  }

  /** The content of responses to writes to several items. */
  matched (): Content {
    return this.#buildCustom(this.#formats, 'Matched', buildMatchedSchema(this.#collection.type))
  }

  /** The content of responses with figures over groups of items. */
  groups (): Content {
    // Only operations with figures have it.
    return this.#buildCustom(this.#formats, 'Groups', this.#collection.attached.aggregate!.output)
  }

  /** The content of requests for a custom action. */
  input ({ name, input }: CustomAction): Content {
    const formats = this.#formats.filter((format) => format.parse !== undefined)
    return this.#buildCustom(formats, `${name}Input`, input)
  }

  /** The content of responses of a custom action that has an output. */
  output (name: string, output: JsonSchema): Content {
    return this.#buildCustom(this.#formats, `${name}Output`, output)
  }

  #buildCustom (formats: readonly Format[], name: string, schema: JsonSchema): Content {
    const example = buildExample(schema, schema, 'first')
    return this.#build(formats, {
      schema: (format) => this.#describeItem(this.#names.stem + toPascalCase(name), schema, format),
      item: isObject(example) && getValidator(schema)(example) === undefined ? example : undefined,
      writeExample: (format, item) => format.item(item, links, schema)
    })
  }

  /** The content of QUERY. */
  query (): Content {
    const schema = describeQuery(this.#components, this.#collection, this.#prefix)
    return { 'application/json': { schema, example: buildQueryExample(this.#collection.lists) } }
  }

  #findMutableProperty (): { name: string, value: unknown } | undefined {
    if (this.#stored === undefined) return undefined
    const { named } = this.#collection.type.properties
    for (const [name, value] of Object.entries(toSentExample(this.#collection.type, this.#stored))) {
      if (named.get(name)?.immutable === false) return { name, value }
    }
    return undefined
  }

  #describeItem (name: string, schema: JsonSchema, format: Format): JsonSchema {
    const described = format.describe(schema)
    const componentName = described === schema ? name : name + toPascalCase(format.name)
    return { ...addSchemaComponent(this.#components, componentName, () => described) }
  }

  /** Formats other than JSON have no example: it would be a string, which the schema does not allow. */
  #build (formats: readonly Format[], { schema, item, writeExample }: ContentBuilder): Content {
    return Object.fromEntries(formats.map((format) => {
      const hasExample = item !== undefined && /[/+]json$/.test(format.mediaType)
      return [format.mediaType, {
        schema: schema(format),
        ...hasExample && { example: JSON.parse(String(writeExample(format, item))) as unknown }
      }]
    }))
  }
}

const links = { self: { href: '/example' } }

interface ReadTarget {
  readonly format: Format
  readonly prefix: string
}

/** Returns a reference to the schema of an item in responses. Related items that it includes can include it again. */
function describeReadItem (components: Components, collection: Collection, { format, prefix }: ReadTarget): JsonSchema {
  const { read } = getSchemaNames(components, collection, prefix)
  const schema = collection.type.messages.read
  const name = format.describe(schema) === schema ? read : read + toPascalCase(format.name)
  const build = (): JsonSchema => format.describe(addRelated(components, collection, schema, format))
  return { ...addSchemaComponent(components, name, build) }
}

/** Adds the related items that a response can include. */
function addRelated (components: Components, collection: Collection, schema: JsonSchema, format: Format): JsonSchema {
  // A format such as HTML has no schema that could refer to others.
  const related = format.describe(schema).properties === undefined ? [] : findRelated(collection)
  if (related.length === 0) return schema
  const schemas = Object.fromEntries(related.map(({ relation, target, prefix }): [string, JsonSchema] => {
    const item = describeReadItem(components, target, { format, prefix })
    const list = { type: 'array', maxItems: target.lists.limit.maximum, items: item }
    return [relation.name, relation.isMany ? list : item]
  }))
  const properties = format.embed?.describe(schemas) ?? describeIncluded(components, schemas)
  return { ...schema, properties: { ...schema.properties, ...properties } }
}

/** Describes included items as properties: one item or null, or a page of several. */
function describeIncluded (
  components: Components,
  schemas: Readonly<Record<string, JsonSchema>>
): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => {
    return [name, schema.type === 'array' ? describePage(schema) : components.describeNullable(schema)]
  }))
}

function describePage (items: JsonSchema): JsonSchema {
  return {
    type: 'object',
    required: ['items'],
    properties: {
      items,
      total: {
        type: 'integer',
        format: 'int64',
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'How many there are in all'
      },
      next: { type: 'string', format: 'uri-reference', maxLength: maxHeaderSize, description: 'Where the list goes on' }
    }
  }
}
