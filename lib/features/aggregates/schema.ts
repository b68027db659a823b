import type { FigureName } from '../../engine/aggregate-types.ts'
import { getBranches } from '../../json-schema/subschemas.ts'
import type { DatePart, JsonSchema } from '../../storage/contract.ts'
import { figureNames, maxBy, maxFigures } from './query.ts'
import type { AggregateSettings } from './query.ts'

const partPatterns: Readonly<Record<DatePart, string>> = {
  year: '^\\d{4}$',
  month: '^\\d{4}-\\d{2}$',
  day: '^\\d{4}-\\d{2}-\\d{2}$',
  hour: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}$'
}

const figureDescriptions: Readonly<Record<FigureName, string>> = {
  distinct: 'How many different values there are',
  sum: 'The sums of the values',
  avg: 'The averages of the values',
  min: 'The least values',
  max: 'The greatest values'
}

const parameterDescriptions: Readonly<Record<FigureName, string>> = {
  distinct: 'The properties whose different values are counted',
  sum: 'The properties whose values are added up',
  avg: 'The properties whose average is computed',
  min: 'The properties whose least value is returned',
  max: 'The properties whose greatest value is returned'
}

/** Returns the schemas of the query parameters. */
export function describeParameters ({ by, of, maximum }: AggregateSettings): Record<string, JsonSchema> {
  const figures = figureNames.filter((name) => of[name].length > 0)
  const sortable = [...by.keys(), 'count', ...figures.flatMap((name) => of[name].map((one) => `${name}.${one}`))]
  return {
    ...by.size > 0 && {
      by: describeNames([...by.keys()], maxBy, 'What items are grouped by. Without it, all items are one group')
    },
    count: { type: 'boolean', description: 'Whether groups have a count. True if no other figure is requested' },
    ...Object.fromEntries(figures.map((name) => {
      return [name, describeNames(of[name], maxFigures, parameterDescriptions[name])]
    })),
    sort: describeNames(
      sortable.flatMap((name) => [name, `-${name}`]),
      sortable.length,
      'What groups are sorted by, if the request has it; prefix a name with - for descending order'
    ),
    limit: {
      type: 'integer',
      format: 'int32',
      minimum: 1,
      maximum,
      default: maximum,
      description: 'The maximum number of groups'
    }
  }
}

function describeNames (names: readonly string[], maximum: number, description: string): JsonSchema {
  return {
    type: 'array',
    items: { type: 'string', enum: names },
    minItems: 1,
    maxItems: Math.min(names.length, maximum),
    uniqueItems: true,
    description
  }
}

/** Returns the schema of the groups. */
export function buildOutputSchema ({ by, of, maximum }: AggregateSettings, schema: JsonSchema): JsonSchema {
  const byProperties = [...by].map(([name, { property, part }]): [string, JsonSchema] => {
    return [name, part === undefined ? toNullable(findSchema(schema, property)) : describePart(part)]
  })
  const figures = figureNames.filter((name) => of[name].length > 0).map((name): [string, JsonSchema] => {
    const properties = of[name].map((property) => [property, describeFigure(name, findSchema(schema, property))])
    return [name, toObject(Object.fromEntries(properties), [], figureDescriptions[name])]
  })
  const group = toObject({
    by: toObject(Object.fromEntries(byProperties), [], 'What the items of the group have in common'),
    count: { ...countSchema, description: 'How many items the group has' },
    ...Object.fromEntries(figures)
  }, ['by'])
  return toObject({
    groups: { type: 'array', maxItems: maximum, items: group },
    more: { type: 'boolean', description: 'Whether there are more groups than the limit' }
  }, ['groups', 'more'])
}

const integerLimits = { format: 'int64', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }
const countSchema: JsonSchema = { type: 'integer', ...integerLimits, minimum: 0 }

/** The property may be nested. Properties that do not exist were refused. */
function findSchema (schema: JsonSchema, property: string): JsonSchema {
  let found: JsonSchema | undefined = schema
  for (const name of property.split('.')) found = findProperty(found, name)
  return found ?? {}
}

/** An object that can be null is one of several branches. */
function findProperty (schema: JsonSchema | undefined, name: string): JsonSchema | undefined {
  if (schema === undefined) return undefined
  return [schema, ...getBranches(schema)].find(({ properties }) => properties?.[name] !== undefined)?.properties?.[name]
}

function toObject (
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[],
  description?: string
): JsonSchema {
  return {
    type: 'object',
    properties,
    ...required.length > 0 && { required },
    additionalProperties: false,
    ...description !== undefined && { description }
  }
}

function describePart (part: DatePart): JsonSchema {
  const pattern = partPatterns[part]
  return { type: ['string', 'null'], pattern, maxLength: 13, description: `The ${part} in UTC` }
}

function describeFigure (name: FigureName, schema: JsonSchema): JsonSchema {
  if (name === 'distinct') return countSchema
  const isInteger = [schema, ...getBranches(schema)].some(({ type }) => [type].flat().includes('integer'))
  if (name === 'sum' && isInteger) return { type: ['integer', 'null'], ...integerLimits }
  return name === 'sum' || name === 'avg' ? { type: ['number', 'null'] } : toNullable(schema)
}

/** What a schema states about a property of items, and not about its values. */
const itemKeywords: ReadonlySet<string> = new Set([
  'default', 'readOnly', 'writeOnly', 'title', 'description', 'examples', '$id'
])

/** A group of items without a value has null. */
function toNullable (schema: JsonSchema): JsonSchema {
  const entries = Object.entries(schema).filter(([keyword]) => !itemKeywords.has(keyword))
  const { type, enum: values, ...kept } = Object.fromEntries(entries) as JsonSchema
  if (type === undefined || kept.const !== undefined) return { anyOf: [Object.fromEntries(entries), { type: 'null' }] }
  return {
    type: [...new Set([type, 'null'].flat())],
    ...kept,
    ...values !== undefined && { enum: [...new Set([...values as readonly unknown[], null])] }
  }
}
