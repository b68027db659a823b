import type { Collection } from '../collection.ts'
import { without } from '../schema/marks.ts'
import { branches, isSchema, resolved } from '../schema/subschemas.ts'
import type { JsonSchema } from '../storage/contract.ts'

// Values that a schema allows, always the same. What cannot be made up, such as a text of an unusual pattern, a schema can tell in `examples`.

/** An item; undefined where none could be made up that fits. */
export function exampleItem ({ schema, validate }: Pick<Collection, 'schema' | 'validate'>): object | undefined {
  const item = example(schema, schema)
  return isSchema(item) && validate.draft(item) === undefined ? item : undefined
}

/** The item as a client sends it, and as it sees it. */
export function sentExample ({ properties }: Pick<Collection, 'properties'>, item: object): object {
  // Of an object, `without` makes an object.
  return without(item, properties, 'readOnly') as object
}

export function seenExample ({ properties }: Pick<Collection, 'properties'>, item: object): object {
  return without(item, properties, 'writeOnly') as object
}

/** How often a reference is followed: a schema that contains itself ends there. */
const deepest = 2

export function example (schema: JsonSchema, root: JsonSchema, depth = 0): unknown {
  const { examples, default: value, const: constant, enum: values } = schema
  const [told] = [examples, [value], [constant], values].flatMap(list => Array.isArray(list) ? list as unknown[] : []).filter(value => value !== undefined)
  if (told !== undefined) return told
  const [, target] = resolved(schema, root)
  if (target !== undefined) return depth < deepest ? example(target, root, depth + 1) : undefined
  const choice = branches(schema, ['anyOf', 'oneOf']).find(({ type }) => type !== 'null')
  if (choice !== undefined) return example(choice, root, depth)
  const parts = branches(schema, ['allOf'])
  if (parts.length > 0) return Object.assign({}, ...parts.map(part => example(part, root, depth)))
  const type = [schema.type].flat().find(type => type !== 'null') ?? 'null'
  return types[type]?.(schema, inner => example(inner, root, depth))
}

type Make = (schema: JsonSchema, inner: (schema: JsonSchema) => unknown) => unknown

const types: Readonly<Record<string, Make>> = {
  string: text,
  integer: schema => number(schema, 1),
  number: schema => number(schema, 0.5),
  boolean: () => true,
  null: () => null,
  array: ({ items, prefixItems, minItems = 0 }, inner) => {
    const places = [prefixItems, items].find(Array.isArray) as JsonSchema[] | undefined
    if (places !== undefined) return places.map(inner)
    const element = isSchema(items) ? inner(items) : undefined
    return element === undefined ? [] : Array.from({ length: Math.max(1, Number(minItems)) }, () => element)
  },
  object: ({ properties = {} }, inner) => {
    const examples = Object.entries(properties).map(([name, property]) => [name, inner(property)])
    return Object.fromEntries(examples.filter(([, value]) => value !== undefined))
  }
}

const formats: Readonly<Record<string, string>> = {
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

/** What patterns are mostly written for: words, slugs, codes, prices, colours, places, times. */
const usual = ['example', 'Example', 'EXAMPLE', 'a-slug', 'a', 'A', '1', '12.50', 'A1', 'a1', 'EUR', 'DE', 'en-GB', 'AB-12', 'ABC-123', 'ABC-1234', 'ABCD-1234', '123', '1234', '12345', '12345678', '+441234567890', '#0a7f5c', '12:00', '2026-01']

function text ({ format = '', pattern = '', minLength = 0, maxLength = Infinity }: JsonSchema): string | undefined {
  const fitting = new RegExp(String(pattern), 'u')
  const sized = usual.map(word => word.padEnd(Number(minLength), word).slice(0, Number(maxLength)))
  return formats[format] ?? sized.find(word => fitting.test(word))
}

function number ({ minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf }: JsonSchema, step: number): number {
  const unit = Number(multipleOf ?? step)
  const least = Number(minimum ?? (exclusiveMinimum === undefined ? -Infinity : Number(exclusiveMinimum) + unit))
  const most = Number(maximum ?? (exclusiveMaximum === undefined ? Infinity : Number(exclusiveMaximum) - unit))
  if (least > unit) return Math.ceil(least / unit) * unit
  return most < unit ? Math.floor(most / unit) * unit : unit
}
