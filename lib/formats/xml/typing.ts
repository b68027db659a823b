// What an element is read as where it does not say so itself. Writer and reader derive it from the same schema, so an
// element carries a `type` attribute only where its value is of another kind than the one expected here.

import { kindsIn } from './kind.ts'
import { encodeName } from './name.ts'
import { dereference, isSchema } from './reference.ts'
import type { JsonSchema } from '../../storage/contract.ts'
import type { Kind } from './kind.ts'

/** An element and what it is read as. */
export interface Property {
  readonly element: string
  readonly typing: Typing
  readonly startTag: string
  readonly endTag: string
}

export function property (element: string, typing: Typing): Property {
  return { element, typing, startTag: `<${element}>`, endTag: `</${element}>` }
}

const roots = new WeakMap<JsonSchema, Property>()

/** The root element: `<items>` where the schema is of an array, else `<item>`. */
export function rootOf (schema: JsonSchema): Property {
  let root = roots.get(schema)
  if (root === undefined) {
    const typing = new Typings(schema).of([schema])
    root = property(typing.kind === 'array' ? 'items' : 'item', typing)
    roots.set(schema, root)
  }
  return root
}

/** All of it is derived when it is first asked for: a schema can contain itself. */
export class Typing {
  /** The one kind but null that the schema allows; a string where there are several, or none is named. */
  readonly kind: Kind
  readonly #schemas: readonly JsonSchema[]
  readonly #typings: Typings
  readonly #items: Property[] = []
  /** How many items of an array have a schema of their own. */
  readonly #positions: number
  #members: Map<string, Property> | undefined
  #others: Typing | undefined

  constructor (schemas: readonly JsonSchema[], typings: Typings) {
    this.#schemas = schemas
    this.#typings = typings
    this.#positions = Math.max(0, ...schemas.map(schema => positions(schema).length))
    const kinds = new Set(schemas.flatMap(kindsIn))
    if (kinds.size > 1) kinds.delete('null')
    const [only = 'string'] = kinds
    this.kind = kinds.size > 1 ? 'string' : only
  }

  /** The properties that the schema names. */
  get properties (): ReadonlyMap<string, Property> {
    if (this.#members !== undefined) return this.#members
    const schemas = new Map<string, JsonSchema[]>()
    for (const { properties = {} } of this.#schemas) {
      for (const [name, schema] of Object.entries(properties)) schemas.set(name, [...schemas.get(name) ?? [], schema])
    }
    this.#members = new Map()
    for (const [name, own] of schemas) this.#members.set(name, property(encodeName(name), this.#typings.of(own)))
    return this.#members
  }

  /** Of all properties that the schema does not name; `patternProperties` count without a look at the pattern, which can be slow. */
  get others (): Typing {
    this.#others ??= this.#typings.of(this.#schemas.flatMap(schema =>
      [...Object.values(schema['patternProperties'] ?? {}), schema['additionalProperties']]))
    return this.#others
  }

  item (index: number): Property {
    const position = Math.min(index, this.#positions)
    this.#items[position] ??= property('item', this.#typings.of(this.#schemas.map(schema =>
      positions(schema)[position] ?? (Array.isArray(schema['items']) ? schema['additionalItems'] : schema['items']))))
    return this.#items[position]
  }
}

/** The typings of one root schema: one for each set of its schemas that a value can be held against. */
class Typings {
  readonly #root: JsonSchema
  readonly #numbers = new Map<JsonSchema, number>()
  readonly #known = new Map<string, Typing>()

  constructor (root: JsonSchema) {
    this.#root = root
  }

  of (schemas: readonly unknown[]): Typing {
    const held = new Set<JsonSchema>()
    for (const schema of schemas) this.#hold(schema, held)
    const key = Array.from(held, schema => this.#number(schema)).sort((a, b) => a - b).join()
    const typing = this.#known.get(key) ?? new Typing([...held], this)
    this.#known.set(key, typing)
    return typing
  }

  /** Which of several alternatives a value is meant for is not known until it is read: all of them count. */
  #hold (schema: unknown, held: Set<JsonSchema>): void {
    if (!isSchema(schema) || held.has(schema)) return
    held.add(schema)
    if (typeof schema['$ref'] === 'string') this.#hold(dereference(schema['$ref'], this.#root), held)
    for (const alternatives of [schema['allOf'], schema['anyOf'], schema['oneOf']]) {
      if (Array.isArray(alternatives)) for (const alternative of alternatives) this.#hold(alternative, held)
    }
  }

  #number (schema: JsonSchema): number {
    const number = this.#numbers.get(schema) ?? this.#numbers.size
    this.#numbers.set(schema, number)
    return number
  }
}

/** The schemas of the first items of an array, one by one. */
function positions (schema: JsonSchema): readonly unknown[] {
  if (Array.isArray(schema['prefixItems'])) return schema['prefixItems']
  return Array.isArray(schema['items']) ? schema['items'] : []
}
