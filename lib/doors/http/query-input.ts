import { getBranches } from '../../json-schema/subschemas.ts'
import type { JsonSchema } from '../../storage/contract.ts'
import type { HttpRequest } from './request.ts'

// The input of a safe custom action as the parameters of a query string.

const scalarTypes: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean'])

/** Whether a query string can express every input: scalars, and arrays of scalars. */
export function canBeQueryString ({ properties = {}, additionalProperties, ...schema }: JsonSchema): boolean {
  const isOpen = additionalProperties !== undefined && additionalProperties !== false
  if (isOpen || schema.patternProperties !== undefined || getBranches(schema).length > 0) return false
  return Object.values(properties).every((property) => {
    const types = getTypes(property)
    if (types.length === 1 && types[0] === 'array') return isScalar(property.items as JsonSchema | undefined)
    return isScalar(property)
  })
}

function isScalar (schema: JsonSchema | undefined): boolean {
  const types = schema === undefined ? [] : getTypes(schema)
  return types.length > 0 && types.every((type) => scalarTypes.has(type))
}

/** The types that a value can have, except null, which a query string cannot express. */
function getTypes (schema: JsonSchema): unknown[] {
  const types = [schema, ...getBranches(schema)].flatMap(({ type, const: constant, enum: values }): unknown[] => {
    if (type !== undefined) return [type].flat()
    const known = (values ?? (constant === undefined ? [] : [constant])) as readonly unknown[]
    return known.map((value) => typeof value)
  })
  return [...new Set(types)].filter((type) => type !== 'null')
}

/** Returns the input. Text that cannot be converted stays text, and is refused by the schema. */
export function readQueryInput (query: HttpRequest['query'], { properties = {} }: JsonSchema): Record<string, unknown> {
  return Object.fromEntries(Object.entries(query).map(([name, given]) => {
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined
    return [name, schema === undefined ? given : readValue(given, schema)]
  }))
}

function readValue (given: unknown, schema: JsonSchema): unknown {
  if (getTypes(schema).includes('array')) {
    const texts = Array.isArray(given) ? given : String(given) === '' ? [] : String(given).split(',')
    return texts.map((text) => readScalar(String(text), schema.items as JsonSchema))
  }
  return typeof given === 'string' ? readScalar(given, schema) : given
}

const numberPattern = /^-?\d{1,400}(?:\.\d{1,400})?(?:e[+-]?\d{1,3})?$/i

function readScalar (text: string, schema: JsonSchema): unknown {
  const types = getTypes(schema)
  if ((types.includes('number') || types.includes('integer')) && numberPattern.test(text)) {
    const number = Number(text)
    // JSON has no infinity.
    return Number.isFinite(number) ? number : text
  }
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
