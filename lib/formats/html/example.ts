import type { JsonSchema } from '../../storage/contract.ts'
import { examples } from './query-form.ts'

/** Deeper values and further properties would make an example too long to help. */
const maxDepth = 3
const maxProperties = 6

const textExamples: Readonly<Record<string, string>> = {
  ...examples,
  email: 'ada@example.com',
  uri: 'https://example.com/',
  uuid: '01900000-0000-7000-8000-000000000000'
}

/** Builds an example of a value from its schema; undefined if the schema accepts anything. */
export function buildExample (schema: JsonSchema, depth = 0): unknown {
  const { examples: given, default: preset, enum: choices, minimum } = schema
  if (Array.isArray(given) && given.length > 0) return given[0] as unknown
  // An empty object or array shows nothing.
  if (preset !== undefined && typeof preset !== 'object') return preset
  if ('const' in schema) return schema.const
  if (Array.isArray(choices)) return choices[0] as unknown
  const variants = (schema.anyOf ?? schema.oneOf ?? []) as readonly JsonSchema[]
  const variant = variants.find(({ type }) => type !== 'null')
  if (variant !== undefined) return buildExample(variant, depth)
  switch ([schema.type].flat()[0]) {
    case 'object': return depth === maxDepth ? {} : buildObject(schema, depth)
    case 'array': return depth === maxDepth ? [] : buildArray(schema, depth)
    case 'string': return textExamples[String(schema.format)] ?? 'text'
    case 'integer':
    case 'number': return minimum ?? 1
    case 'boolean': return true
    default: return undefined
  }
}

function buildObject ({ properties = {} }: JsonSchema, depth: number): object {
  const entries = Object.entries(properties).slice(0, maxProperties)
  return Object.fromEntries(entries.map(([name, property]) => [name, buildExample(property, depth + 1)]))
}

function buildArray ({ items = {} }: JsonSchema, depth: number): unknown[] {
  const example = Array.isArray(items) ? undefined : buildExample(items as JsonSchema, depth + 1)
  return example === undefined ? [] : [example]
}
