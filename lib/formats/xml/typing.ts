// How an element is read if it has no `type` attribute. Writer and reader derive it from the same schema, so an element
// has the attribute only if its value is of another kind.

import { parsePointer } from '../../http/json-pointer.ts'
import { encodeName } from './name.ts'
import type { JsonSchema } from '../../storage/contract.ts'
import { getKinds } from './values.ts'
import type { Kind } from './values.ts'

/** An element and how it is read. */
export interface ElementType {
  readonly element: string
  readonly typing: Typing
  readonly startTag: string
  readonly endTag: string
}

export function createElementType (element: string, typing: Typing): ElementType {
  return { element, typing, startTag: `<${element}>`, endTag: `</${element}>` }
}

const roots = new WeakMap<JsonSchema, ElementType>()

/** Returns the root element: `<items>` if the schema describes an array, else `<item>`. */
export function getRoot (schema: JsonSchema): ElementType {
  let root = roots.get(schema)
  if (root === undefined) {
    const typing = new TypingFactory(schema).get([schema])
    root = createElementType(typing.kind === 'array' ? 'items' : 'item', typing)
    roots.set(schema, root)
  }
  return root
}

const listRoots = new WeakMap<JsonSchema, ElementType>()

/** Returns the root element of several items that have the schema: `<items>`. */
export function getListRoot (schema: JsonSchema): ElementType {
  let root = listRoots.get(schema)
  if (root === undefined) {
    // References in the schema of an item refer to that schema.
    root = createElementType('items', new TypingFactory(schema).get([{ type: 'array', items: schema }]))
    listRoots.set(schema, root)
  }
  return root
}

/** Derived lazily, because a schema can contain itself. */
export class Typing {
  /** The only kind that the schema allows beside null; a string if there are several, or if none is stated. */
  readonly kind: Kind
  readonly #schemas: readonly JsonSchema[]
  readonly #factory: TypingFactory
  readonly #items: ElementType[] = []
  /** How many items of an array have a schema of their own. */
  readonly #tupleLength: number
  #properties: Map<string, ElementType> | undefined
  #others: Typing | undefined

  constructor (schemas: readonly JsonSchema[], factory: TypingFactory) {
    this.#schemas = schemas
    this.#factory = factory
    this.#tupleLength = Math.max(0, ...schemas.map((schema) => getTupleSchemas(schema).length))
    const kinds = new Set(schemas.flatMap(getKinds))
    if (kinds.size > 1) kinds.delete('null')
    const [only = 'string'] = kinds
    this.kind = kinds.size > 1 ? 'string' : only
  }

  /** The properties that the schema names. */
  get properties (): ReadonlyMap<string, ElementType> {
    if (this.#properties !== undefined) return this.#properties
    const schemas = new Map<string, JsonSchema[]>()
    for (const { properties = {} } of this.#schemas) {
      for (const [name, schema] of Object.entries(properties)) {
        schemas.set(name, [...schemas.get(name) ?? [], schema])
      }
    }
    this.#properties = new Map()
    for (const [name, propertySchemas] of schemas) {
      this.#properties.set(name, createElementType(encodeName(name), this.#factory.get(propertySchemas)))
    }
    return this.#properties
  }

  /** All properties that the schema does not name. Patterns of `patternProperties` are not tested: they can be slow. */
  get others (): Typing {
    this.#others ??= this.#factory.get(this.#schemas.flatMap((schema) => {
      return [...Object.values(schema['patternProperties'] ?? {}), schema['additionalProperties']]
    }))
    return this.#others
  }

  /** Returns the type of an array item. */
  getItem (index: number): ElementType {
    const position = Math.min(index, this.#tupleLength)
    this.#items[position] ??= createElementType('item', this.#factory.get(this.#schemas.map((schema) => {
      return getTupleSchemas(schema)[position] ?? getRestSchema(schema)
    })))
    return this.#items[position]
  }
}

/** Creates the typings of a root schema, one for each set of schemas that a value can have. */
class TypingFactory {
  readonly #root: JsonSchema
  readonly #numbers = new Map<JsonSchema, number>()
  readonly #known = new Map<string, Typing>()

  constructor (root: JsonSchema) {
    this.#root = root
  }

  get (schemas: readonly unknown[]): Typing {
    const all = new Set<JsonSchema>()
    for (const schema of schemas) this.#addAll(schema, all)
    const key = Array.from(all, (schema) => this.#getNumber(schema)).sort((a, b) => a - b).join()
    const typing = this.#known.get(key) ?? new Typing([...all], this)
    this.#known.set(key, typing)
    return typing
  }

  /** Adds all branches of unions, because a value cannot be assigned to one of them before it is read. */
  #addAll (schema: unknown, all: Set<JsonSchema>): void {
    if (!isSchema(schema) || all.has(schema)) return
    all.add(schema)
    if (typeof schema['$ref'] === 'string') this.#addAll(dereference(schema['$ref'], this.#root), all)
    for (const branches of [schema['allOf'], schema['anyOf'], schema['oneOf']]) {
      if (!Array.isArray(branches)) continue
      for (const branch of branches) this.#addAll(branch, all)
    }
  }

  #getNumber (schema: JsonSchema): number {
    const number = this.#numbers.get(schema) ?? this.#numbers.size
    this.#numbers.set(schema, number)
    return number
  }
}

/** Returns the schemas of the first items of an array, by position. */
function getTupleSchemas (schema: JsonSchema): readonly unknown[] {
  if (Array.isArray(schema['prefixItems'])) return schema['prefixItems']
  return Array.isArray(schema['items']) ? schema['items'] : []
}

/** Returns the schema of the items after those with a position. */
function getRestSchema (schema: JsonSchema): unknown {
  return Array.isArray(schema['items']) ? schema['additionalItems'] : schema['items']
}

// JSON Schema 2020-12, section 8.2: a `$ref` to an `$id`, or to a JSON Pointer, in the same root schema.

export function isSchema (value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the target of a reference; undefined if the root does not contain it. */
function dereference (reference: string, root: JsonSchema): unknown {
  if (!reference.startsWith('#')) return findById(reference, root)
  const segments = parsePointer(reference.slice(1))
  return segments?.reduce<unknown>((found, segment) => {
    return typeof found === 'object' && found !== null ? Reflect.get(found, segment) : undefined
  }, root)
}

function findById (id: string, root: JsonSchema): JsonSchema | undefined {
  const nodes = new Set<unknown>([root])
  // A loop over a set also visits what is added during the loop.
  for (const node of nodes) {
    if (isSchema(node) && node['$id'] === id) return node
    if (typeof node !== 'object' || node === null) continue
    for (const child of Object.values(node)) nodes.add(child)
  }
  return undefined
}
