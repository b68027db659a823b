import { BadOption, BadSchema, UnfilledProperty, UnknownProperty } from '../errors.ts'
import { filled } from './marks.ts'
import { propertiesOf } from './properties.ts'
import { bears, derived } from './derived.ts'
import { isUnorderedNumeral, unorderedNumeral } from './numerals.ts'
import type { JsonSchema, Order } from '../storage/contract.ts'
import { toInstant } from '../storage/instant.ts'
import { branches, elements, openings, resolved, subschemas } from './subschemas.ts'
import { knowsFormat, validator } from './validation.ts'
import type { Validator } from './validation.ts'

// What a developer can get wrong in a schema, or about its properties, told at boot.

/** A schema of objects that have properties. */
export interface ItemSchema extends JsonSchema {
  readonly properties: Readonly<Record<string, JsonSchema>>
}

/** The schema, known to be that of an item. */
export function checkSchema (name: string, schema: JsonSchema): ItemSchema {
  const properties = schema?.type === 'object' ? schema.properties : undefined
  if (properties === undefined) throw new BadSchema(name, 'the schema is no object. Use Type.Object({ id: ..., ... }).')
  checkParts(name, schema)
  return { ...schema, properties }
}

/** The validator of a schema, or of a part of it. */
export function compiled (name: string, schema: JsonSchema): Validator {
  try {
    return validator(schema)
  } catch (cause) {
    throw new BadSchema(name, `the schema cannot be compiled. ${(cause as Error).message}. Types without a JSON form, such as Type.Date, are written as strings with a format.`)
  }
}

function checkParts (name: string, schema: JsonSchema): void {
  const { format, default: value } = schema
  if (format !== undefined && !knowsFormat(format)) throw new BadSchema(name, `the format "${format}" is not known, so that it would check nothing. Use one of ajv-formats, or a pattern.`)
  if (format === 'date-time' && !takesCanonical(name, schema)) throw new BadSchema(name, 'a date-time is stored in UTC with milliseconds, such as 2026-01-01T00:00:00.000Z, and the keywords beside its format do not allow that form. Remove pattern, minLength and maxLength, or write the values of enum and const in that form.')
  // A reference means something only within the whole.
  if (value !== undefined && !refers(schema) && compiled(name, derived(schema, { optional: ['readOnly'] }))(filled(value, propertiesOf(schema))) !== undefined) {
    throw new BadSchema(name, `the default ${JSON.stringify(value)} does not fit the schema it stands in, so that no client could leave the property out. Change one of them.`)
  }
  for (const inner of subschemas(schema)) checkParts(name, inner)
}

/** Of several years, because a pattern may be about them. */
const moments = ['2026-01-01T00:00:00.000Z', '2024-06-15T12:30:45.678Z', '1999-12-31T23:59:59.999Z']

function takesCanonical (name: string, schema: JsonSchema): boolean {
  const { pattern, minLength, maxLength, const: constant, enum: values = constant === undefined ? [] : [constant] } = schema
  if ((values as unknown[]).some(value => typeof value === 'string' && toInstant(value) !== value)) return false
  if (pattern === undefined && minLength === undefined && maxLength === undefined) return true
  const validate = compiled(name, JSON.parse(JSON.stringify({ type: 'string', pattern, minLength, maxLength })))
  return moments.some(moment => validate(moment) === undefined)
}

function refers (schema: JsonSchema): boolean {
  return schema.$ref !== undefined || subschemas(schema).some(refers)
}

export function checkProperties (name: string, schema: ItemSchema, named: Readonly<Record<string, readonly string[]>>): void {
  const known = Object.keys(schema.properties)
  for (const [option, properties] of Object.entries(named)) {
    const unknown = properties.find(property => !known.includes(property))
    if (unknown !== undefined) throw new UnknownProperty(name, `${option} names "${unknown}"`, known.join(', '))
    const dotted = properties.find(property => property.includes('.'))
    if (dotted !== undefined) throw new BadOption(name, `${option} names "${dotted}", which a storage would look for inside of another property. Call it by a name without a dot.`)
  }
}

/** A cursor tells the values that a list is ordered by. */
export function checkOrder (name: string, schema: ItemSchema, order: readonly Order[]): void {
  for (const [property, described] of Object.entries(schema.properties)) {
    if (!order.some(by => by.property === property)) continue
    // Alone, as the value in a cursor is held to it.
    compiled(name, described)
    if (bears(described, 'writeOnly', schema)) throw new BadOption(name, `order names "${property}", which is writeOnly and would be told by the order. Take it away.`)
    if ([described, ...branches(described)].some(isUnorderedNumeral)) throw new BadOption(name, unorderedNumeral('order', property))
    const types = [described, ...branches(described)].flatMap(({ type = [] }) => type)
    if (types.some(type => type === 'object' || type === 'array')) throw new BadOption(name, `order names "${property}", whose values have no order. Use properties that are text, numbers or booleans.`)
  }
}

/** `given` are the properties that the library itself fills. */
export function checkFilled (name: string, schema: JsonSchema, given: ReadonlyArray<string | undefined>): void {
  const checked = new Set<JsonSchema>()
  const check = (part: JsonSchema, path: string): void => {
    if (checked.has(part)) return
    checked.add(part)
    for (const [property, described] of Object.entries(part.properties ?? {})) {
      const [place, closed] = [path + property, bears(described, 'readOnly', schema)]
      if (closed && part.required?.includes(property) === true && described.default === undefined && !given.includes(place)) throw new UnfilledProperty(name, `"${place}"`)
      if (!closed) check(described, `${place}.`)
    }
    for (const same of [...resolved(part, schema), ...branches(part), ...openings(part), ...elements(part)]) check(same, path)
  }
  check(schema, '')
}
