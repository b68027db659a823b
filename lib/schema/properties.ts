import type { JsonSchema } from '../storage/contract.ts'
import { hasBelow, PlaceReader } from './places.ts'
import type { Part, Place } from './places.ts'
import { getBranches, resolveSchema } from '../json-schema/subschemas.ts'

// Reads from the schema, at any depth, which properties a client can write (readOnly), see (writeOnly) and change
// (immutable), and which have a default. If branches of a union disagree, the stricter one applies.

export const annotations = ['readOnly', 'writeOnly', 'immutable'] as const

export type Annotation = typeof annotations[number]

/** What a schema states about a value and the properties below it. */
export interface Properties extends Readonly<Record<Annotation, boolean>>, Place<Properties> {
  readonly default: unknown
  /** Whether anything below has the annotation. */
  readonly contains: Record<Annotation | 'default' | 'secret', boolean>
  /**
   * The names of the properties that have the annotation or contain it.
   * `partly` lists those that a client cannot fully write or see.
   */
  readonly affected: Record<Annotation | 'partly', readonly string[]>
  /** Whether an object can have properties that the schema does not have. */
  readonly isOpen: boolean
}

/** Reads what a schema states about its properties. */
export function readProperties (root: JsonSchema): Properties {
  const reader = new PlaceReader<Properties>(root, {
    create: (parts, given) => describePlace(parts, findDefault(given, root)),
    findSchemas: ({ schema: { properties = {} } }, name) => Object.hasOwn(properties, name) ? [properties[name]!] : []
  })
  const properties = reader.read(root)
  summarize(reader.places)
  return properties
}

function describePlace (parts: readonly Part[], value: unknown): Properties {
  const hasAny = (annotation: Annotation): boolean => parts.some(({ schema }) => schema[annotation] === true)
  return {
    readOnly: hasAny('readOnly'),
    writeOnly: hasAny('writeOnly'),
    immutable: hasAny('immutable'),
    default: value,
    contains: { readOnly: false, writeOnly: false, immutable: false, default: false, secret: false },
    named: new Map(),
    affected: { readOnly: [], writeOnly: [], immutable: [], partly: [] },
    others: undefined,
    items: undefined,
    isOpen: parts.some(({ schema }) => isOpenSchema(schema))
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
