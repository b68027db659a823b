import type { Properties } from '../schema/properties.ts'
import { isUnorderedNumeral } from '../schema/numerals.ts'
import type { JsonSchema } from '../storage/contract.ts'

/** What of an item a list can be asked by: a scalar that a client can see. */
export interface Queryable {
  /** The path of the property, with dots. */
  readonly property: string
  readonly type: 'string' | 'number' | 'integer' | 'boolean'
  /** What a value to compare it with must be: of the type and format, but not of the length or range that an item is held to. */
  readonly schema: JsonSchema
  /** Whether it can be sorted by, and compared with less and greater: false for decimals written as text. */
  readonly ordered: boolean
}

const scalars = new Set(['string', 'number', 'integer', 'boolean'])

/** A schema, and what it says of its properties, wherever it says it. */
export interface Described {
  readonly schema: JsonSchema
  readonly properties: Properties
}

export function queryable (described: Described): ReadonlyMap<string, Queryable> {
  return new Map([...found(described, '')].map(queryable => [queryable.property, queryable]))
}

function * found ({ schema, properties }: Described, path: string): Generator<Queryable> {
  for (const [name, described] of Object.entries(schema.properties ?? {})) {
    // Whatever the schema names, it says something of.
    const about = properties.named.get(name)!
    // A dot in a name cannot be told from one between names.
    if (about.writeOnly || name.includes('.')) continue
    const property = path + name
    const [only, ...others] = kinds(described)
    if (only === undefined || others.length > 0) continue
    yield * found({ schema: only, properties: about }, `${property}.`)
    const type = typeOf(only)
    if (type !== undefined) yield { property, type, schema: { type, ...kept(described, only) }, ordered: !isUnorderedNumeral({ ...only, type }) }
  }
}

/** What a value can be but null, where several say the same as one. */
function kinds (schema: JsonSchema): JsonSchema[] {
  const branches = (schema.anyOf ?? schema.oneOf) as readonly JsonSchema[] | undefined
  if (branches === undefined) return [schema]
  const kinds = branches.filter(branch => branch.type !== 'null')
  const constants = kinds.every(branch => branch.const !== undefined && typeOf(branch) === typeOf(kinds[0]!))
  return constants && kinds.length > 0 ? [{ type: typeOf(kinds[0]!)!, enum: kinds.map(branch => branch.const) }] : kinds
}

function typeOf ({ type, const: constant }: JsonSchema): Queryable['type'] | undefined {
  const named = type ?? (constant === undefined ? undefined : typeof constant)
  const [only, ...others] = [named].flat().filter(type => type !== 'null')
  return typeof only === 'string' && others.length === 0 && scalars.has(only) ? only as Queryable['type'] : undefined
}

function kept (described: JsonSchema, { format, enum: values, const: constant }: JsonSchema): JsonSchema {
  const allowed = values ?? (constant === undefined ? undefined : [constant])
  return {
    ...format !== undefined && { format },
    ...allowed !== undefined && { enum: (allowed as unknown[]).filter(value => value !== null) },
    ...typeof described.description === 'string' && { description: described.description }
  }
}
