import type { JsonSchema } from '../storage/contract.ts'
import { getBranches, getItemSchemas, getOpenSchemas, resolveSchema } from './subschemas.ts'

// Reads from the schema, at any depth, which properties a client can write (readOnly), see (writeOnly) and change
// (immutable), and which have a default. If branches of a union disagree, the stricter one applies.

export const annotations = ['readOnly', 'writeOnly', 'immutable'] as const

export type Annotation = typeof annotations[number]

/** What a schema states about a value and the properties below it. */
export interface Properties extends Readonly<Record<Annotation, boolean>> {
  readonly default: unknown
  /** Whether anything below has the annotation. */
  readonly contains: Record<Annotation | 'default' | 'secret', boolean>
  readonly named: Map<string, Properties>
  /**
   * The names of the properties that have the annotation or contain it.
   * `partly` lists those that a client cannot fully write or see.
   */
  readonly affected: Record<Annotation | 'partly', readonly string[]>
  others: Properties | undefined
  items: Properties | undefined
  /** Whether an object can have properties that the schema does not have. */
  readonly isOpen: boolean
}

/** A schema of a value, and whether it certainly applies. */
interface Part {
  readonly schema: JsonSchema
  readonly certain: boolean
}

/** Reads what a schema states about its properties. */
export function readProperties (schema: JsonSchema): Properties {
  const reader = new PropertyReader(schema)
  const properties = reader.read([{ schema, certain: true }])
  summarize([...reader.known.values()])
  return properties
}

class PropertyReader {
  /** By the schemas of a value. Without it, a recursive schema would never end. */
  readonly known = new Map<string, Properties>()
  readonly #root: JsonSchema
  readonly #numbers = new Map<JsonSchema, number>()

  constructor (root: JsonSchema) {
    this.#root = root
  }

  read (given: readonly Part[]): Properties {
    const parts = expandParts(given, this.#root)
    const key = parts.map((part) => this.#getKey(part)).sort().join()
    const known = this.known.get(key)
    if (known !== undefined) return known

    const hasAny = (annotation: Annotation): boolean => parts.some(({ schema }) => schema[annotation] === true)
    const properties: Properties = {
      readOnly: hasAny('readOnly'),
      writeOnly: hasAny('writeOnly'),
      immutable: hasAny('immutable'),
      default: findDefault(given, this.#root),
      contains: { readOnly: false, writeOnly: false, immutable: false, default: false, secret: false },
      named: new Map(),
      affected: { readOnly: [], writeOnly: [], immutable: [], partly: [] },
      others: undefined,
      items: undefined,
      isOpen: parts.some(({ schema }) => isOpenSchema(schema))
    }
    this.known.set(key, properties)
    for (const name of new Set(parts.flatMap(({ schema }) => Object.keys(schema.properties ?? {})))) {
      const inner = getInnerParts(parts, ({ properties = {} }) => {
        return Object.hasOwn(properties, name) ? [properties[name]!] : []
      })
      properties.named.set(name, this.read(inner))
    }
    properties.others = this.#readIfAny(getInnerParts(parts, getOpenSchemas))
    properties.items = this.#readIfAny(getInnerParts(parts, getItemSchemas))
    return properties
  }

  #readIfAny (parts: readonly Part[]): Properties | undefined {
    return parts.length === 0 ? undefined : this.read(parts)
  }

  #getKey ({ schema, certain }: Part): string {
    const number = this.#numbers.get(schema) ?? this.#numbers.size
    this.#numbers.set(schema, number)
    return certain ? `${number}` : `${number}?`
  }
}

/** Whether a schema allows any property, or says nothing about the properties of objects. */
function isOpenSchema (schema: JsonSchema): boolean {
  const { type = 'object', properties, patternProperties, additionalProperties, unevaluatedProperties } = schema
  if (additionalProperties === true || unevaluatedProperties === true) return true
  return [type].flat().includes('object') &&
    properties === undefined &&
    patternProperties === undefined &&
    additionalProperties === undefined &&
    unevaluatedProperties === undefined &&
    schema.const === undefined &&
    schema.$ref === undefined &&
    getBranches(schema).length === 0
}

/** If several schemas describe one place, as in a tuple, none of them certainly applies. */
function getInnerParts (parts: readonly Part[], find: (schema: JsonSchema) => readonly JsonSchema[]): Part[] {
  return parts.flatMap(({ schema, certain }) => {
    const found = find(schema)
    return found.map((inner) => ({ schema: inner, certain: certain && found.length === 1 }))
  })
}

/** Adds everything that the parts refer to and consist of. */
function expandParts (given: readonly Part[], root: JsonSchema): readonly Part[] {
  const parts = new Map<JsonSchema, Part>()
  const add = ({ schema, certain }: Part): void => {
    for (const resolved of resolveSchema(schema, root)) {
      if (parts.has(resolved)) continue
      parts.set(resolved, { schema: resolved, certain })
      for (const branch of getBranches(resolved, ['allOf'])) add({ schema: branch, certain })
      // In a union of several objects it is unknown which of them a value will be.
      const choices = getBranches(resolved, ['anyOf', 'oneOf'])
      const objects = choices
        .flatMap((choice) => resolveSchema(choice, root))
        .filter((choice) => choice.properties !== undefined)
      for (const choice of choices) add({ schema: choice, certain: certain && objects.length === 1 })
    }
  }
  given.forEach(add)
  return [...parts.values()]
}

/** Finds the default of the value itself. A default inside a branch of a union only concerns that branch. */
function findDefault (given: readonly Part[], root: JsonSchema): unknown {
  const schemas = given
    .filter(({ certain }) => certain)
    .flatMap(({ schema }) => resolveSchema(schema, root))
    .flatMap((schema) => [schema, ...getBranches(schema, ['allOf'])])
  return schemas.find((schema) => schema.default !== undefined)?.default
}

/** Whether a property is writeOnly and cannot be changed. Reporting a changed value would let clients guess it. */
export function isSecret ({ writeOnly, readOnly, immutable }: Properties): boolean {
  return writeOnly && (readOnly || immutable)
}

function summarize (nodes: readonly Properties[]): void {
  for (const node of nodes) {
    for (const annotation of annotations) node.contains[annotation] = hasBelow(node, (child) => child[annotation])
    node.contains.default = hasBelow(node, (child) => child.default !== undefined)
    node.contains.secret = hasBelow(node, isSecret)
  }
  for (const node of nodes) {
    for (const annotation of annotations) {
      node.affected[annotation] = [...node.named]
        .filter(([, child]) => child[annotation] || child.contains[annotation])
        .map(([name]) => name)
    }
    node.affected.partly = [...new Set([...node.affected.readOnly, ...node.affected.writeOnly])]
  }
}

function hasBelow (node: Properties, test: (node: Properties) => boolean): boolean {
  const queue = new Set([node])
  for (const { named, others, items } of queue) {
    const children = [...named.values(), others, items].filter((child) => child !== undefined)
    if (children.some(test)) return true
    for (const child of children) queue.add(child)
  }
  return false
}
