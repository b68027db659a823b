import type { ActionInfo } from '../engine/action-info.ts'
import { isObject } from '../http/json-value.ts'
import { omitAnnotated } from '../schema/annotations.ts'
import type { ItemType } from '../schema/item-type.ts'
import { getBranches, isSchema, resolveSchema } from '../json-schema/subschemas.ts'
import type { JsonSchema } from '../storage/contract.ts'

// Builds values that a schema allows, always the same ones. For unusual patterns, a schema needs `examples`.

/** Which of the `examples` of a property is used. */
export type ExampleChoice = 'first' | 'last'

/**
 * Chooses the example of a stored item. Custom actions and nested collections use the last one, so that their
 * operations can be tried after those of the collection itself, which include DELETE.
 */
export function chooseStoredExample (
  { parent }: { readonly parent: unknown },
  { custom }: Pick<ActionInfo, 'custom'> = {}
): ExampleChoice {
  return parent === undefined && custom === undefined ? 'first' : 'last'
}

/** Builds an item; undefined if the result is not valid. */
export function buildExampleItem (type: ItemType, choice: ExampleChoice): object | undefined {
  const item = buildExample(type.schema, type.schema, choice)
  return isObject(item) && type.findFailures(item) === undefined ? item : undefined
}

/** Returns the item as a client sends it. */
export function toSentExample (type: ItemType, item: object): object {
  // An object stays one.
  return omitAnnotated(item, type.properties, 'readOnly') as object
}

/** How many references are followed, because a schema can contain itself. */
const maxDepth = 2

export function buildExample (schema: JsonSchema, root: JsonSchema, choice: ExampleChoice, depth = 0): unknown {
  const given = getGivenValue(schema, choice)
  if (given !== undefined) return given
  const [, target] = resolveSchema(schema, root)
  if (target !== undefined) return depth < maxDepth ? buildExample(target, root, choice, depth + 1) : undefined
  const branch = getBranches(schema, ['anyOf', 'oneOf']).find(({ type }) => type !== 'null')
  if (branch !== undefined) return buildExample(branch, root, choice, depth)
  const parts = getBranches(schema, ['allOf'])
  if (parts.length > 0) return Object.assign({}, ...parts.map((part) => buildExample(part, root, choice, depth)))
  const type = [schema.type].flat().find((type) => type !== 'null') ?? 'null'
  return byType[type]?.(schema, (inner) => buildExample(inner, root, choice, depth))
}

/** Returns a value that the schema itself contains. */
function getGivenValue (schema: JsonSchema, choice: ExampleChoice): unknown {
  const { examples, default: value, const: constant, enum: values } = schema
  const chosen = Array.isArray(examples) && choice === 'last' ? examples.toReversed() : examples
  const candidates = [chosen, [value], [constant], values].flatMap((list) => (
    Array.isArray(list) ? list as unknown[] : []
  ))
  return candidates.find((candidate) => candidate !== undefined)
}

type BuildByType = (schema: JsonSchema, buildInner: (schema: JsonSchema) => unknown) => unknown

const byType: Readonly<Record<string, BuildByType>> = {
  string: buildString,
  integer: (schema) => buildNumber(schema, 1),
  number: (schema) => buildNumber(schema, 0.5),
  boolean: () => true,
  null: () => null,
  array: ({ items, prefixItems, minItems = 0 }, buildInner) => {
    const tuple = [prefixItems, items].find(Array.isArray) as JsonSchema[] | undefined
    if (tuple !== undefined) return tuple.map(buildInner)
    const element = isSchema(items) ? buildInner(items) : undefined
    return element === undefined ? [] : Array.from({ length: Math.max(1, Number(minItems)) }, () => element)
  },
  object: ({ properties = {} }, buildInner) => {
    const examples = Object.entries(properties).map(([name, property]) => [name, buildInner(property)])
    return Object.fromEntries(examples.filter(([, value]) => value !== undefined))
  }
}

const byFormat: Readonly<Record<string, string>> = {
  uuid: '0199a8f0-5c1e-7b3a-9d42-6f1e2a3b4c5d',
  email: 'ada@example.com',
  'date-time': '2026-01-31T12:00:00.000Z',
  date: '2026-01-31',
  time: '12:00:00Z',
  duration: 'P1D',
  uri: 'https://example.com/',
  'uri-reference': '/example',
  url: 'https://example.com/',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  byte: 'ZXhhbXBsZQ==',
  regex: '^a+$',
  'json-pointer': '/example'
}

/** Strings that match common patterns: words, slugs, codes, prices, colors, locales, times. */
const commonStrings = [
  'example', 'Example', 'EXAMPLE', 'a-slug', 'a', 'A', '1', '12.50', 'A1', 'a1', 'EUR', 'DE', 'en-GB',
  'AB-12', 'ABC-123', 'ABC-1234', 'ABCD-1234', '123', '1234', '12345', '12345678', '+441234567890',
  '#0a7f5c', '12:00', '2026-01'
]

function buildString (schema: JsonSchema): string | undefined {
  const { format = '', pattern = '', minLength = 0, maxLength = Infinity } = schema
  const expression = new RegExp(String(pattern), 'u')
  const candidates = commonStrings.map((text) => text.padEnd(Number(minLength), text).slice(0, Number(maxLength)))
  return byFormat[format] ?? candidates.find((text) => expression.test(text))
}

function buildNumber (schema: JsonSchema, step: number): number {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf } = schema
  const unit = Number(multipleOf ?? step)
  const lowest = Number(minimum ?? (exclusiveMinimum === undefined ? -Infinity : Number(exclusiveMinimum) + unit))
  const highest = Number(maximum ?? (exclusiveMaximum === undefined ? Infinity : Number(exclusiveMaximum) - unit))
  if (lowest > unit) return Math.ceil(lowest / unit) * unit
  return highest < unit ? Math.floor(highest / unit) * unit : unit
}
