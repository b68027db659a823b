import { BadOption, BadSchema, UnfilledProperty, UnknownProperty } from '../errors/errors.ts'
import { fillDefaults } from './annotations.ts'
import { readProperties } from './properties.ts'
import { hasAnnotation, rewriteSchema } from './rewrite-schema.ts'
import { describeUnorderedNumeral, isUnorderedNumeral } from './numerals.ts'
import type { JsonSchema, Order } from '../storage/contract.ts'
import { toInstant } from '../storage/instant.ts'
import { getBranches, getItemSchemas, getOpenSchemas, getSubschemas, resolveSchema } from '../json-schema/subschemas.ts'
import { compileValidator, isKnownFormat } from './validation.ts'
import type { Validator } from './validation.ts'

// Mistakes in a schema, or in options that name its properties, are reported at boot.

/** A schema of objects that have properties. */
export interface ItemSchema extends JsonSchema {
  readonly properties: Readonly<Record<string, JsonSchema>>
}

/** Checks that a schema can describe items. */
export function checkSchema (name: string, schema: JsonSchema): ItemSchema {
  const properties = schema?.type === 'object' ? schema.properties : undefined
  if (properties === undefined) {
    throw new BadSchema(name, 'the schema does not describe an object. Use Type.Object({ id: ..., ... }), ' +
      'or an object of zod, valibot or arktype.')
  }
  checkParts(name, schema)
  checkDates(name, schema)
  return { ...schema, properties }
}

/** Checks and compiles the schema of content that is not an item. */
export function compileContentSchema (name: string, schema: JsonSchema): Validator {
  checkParts(name, schema)
  return compileSchema(name, schema)
}

/** Compiles the validator of a schema, or of a part of it. */
export function compileSchema (name: string, schema: JsonSchema): Validator {
  try {
    return compileValidator(schema)
  } catch (cause) {
    throw new BadSchema(name, `the schema cannot be compiled. ${(cause as Error).message}. ` +
      'Write types without a JSON form, such as Type.Date, as strings with a format.')
  }
}

function checkParts (name: string, schema: JsonSchema): void {
  checkFormat(name, schema)
  checkDefault(name, schema)
  for (const inner of getSubschemas(schema)) checkParts(name, inner)
}

function checkFormat (name: string, schema: JsonSchema): void {
  const { format } = schema
  if (format !== undefined && !isKnownFormat(format)) {
    throw new BadSchema(name, `the format "${format}" is unknown, so it would check nothing. ` +
      'Use a format of ajv-formats, or a pattern.')
  }
}

function checkDates (name: string, schema: JsonSchema): void {
  if (schema.format === 'date-time' && !canBeCanonicalDate(name, schema)) {
    throw new BadSchema(name, 'a date-time is stored in UTC with milliseconds, such as 2026-01-01T00:00:00.000Z, ' +
      'and the keywords beside its format do not allow that form. ' +
      'Remove pattern, minLength and maxLength, or write the values of enum and const in that form.')
  }
  for (const inner of getSubschemas(schema)) checkDates(name, inner)
}

function checkDefault (name: string, schema: JsonSchema): void {
  const { default: value } = schema
  // A reference can only be resolved within the whole schema.
  if (value === undefined || hasReference(schema)) return
  const validate = compileSchema(name, rewriteSchema(schema, { optional: ['readOnly'] }))
  if (validate(fillDefaults(value, readProperties(schema))) === undefined) return
  throw new BadSchema(name, `the default ${JSON.stringify(value)} is invalid against its own schema, ` +
    'so that no client could omit the property. Change one of them.')
}

/** Dates of several years, because a pattern may restrict the year. */
const sampleDates = ['2026-01-01T00:00:00.000Z', '2024-06-15T12:30:45.678Z', '1999-12-31T23:59:59.999Z']

function canBeCanonicalDate (name: string, schema: JsonSchema): boolean {
  const { pattern, minLength, maxLength, const: constant } = schema
  const { enum: values = constant === undefined ? [] : [constant] } = schema
  if ((values as unknown[]).some((value) => typeof value === 'string' && toInstant(value) !== value)) return false
  if (pattern === undefined && minLength === undefined && maxLength === undefined) return true
  const validate = compileSchema(name, JSON.parse(JSON.stringify({ type: 'string', pattern, minLength, maxLength })))
  return sampleDates.some((date) => validate(date) === undefined)
}

function hasReference (schema: JsonSchema): boolean {
  return schema.$ref !== undefined || getSubschemas(schema).some(hasReference)
}

/** Checks that options name existing properties. `named` maps each option to the properties that it names. */
export function checkProperties (
  name: string,
  schema: ItemSchema,
  named: Readonly<Record<string, readonly string[]>>
): void {
  const known = Object.keys(schema.properties)
  for (const [option, properties] of Object.entries(named)) {
    const unknown = properties.find((property) => !known.includes(property))
    if (unknown !== undefined) throw new UnknownProperty(name, `${option} names "${unknown}"`, known.join(', '))
    const dotted = properties.find((property) => property.includes('.'))
    if (dotted !== undefined) {
      throw new BadOption(name, `${option} names "${dotted}", which a storage would read as a path into another ` +
        'property. Use a name without a dot.')
    }
  }
}

/** Checks that a list can be ordered by these properties. Their values are part of cursors, which clients see. */
export function checkOrder (name: string, schema: ItemSchema, order: readonly Order[]): void {
  for (const [property, propertySchema] of Object.entries(schema.properties)) {
    if (!order.some((by) => by.property === property)) continue
    // The value in a cursor is validated against this schema alone, so it must compile alone.
    compileSchema(name, propertySchema)
    if (hasAnnotation(propertySchema, 'writeOnly', schema)) {
      throw new BadOption(name, `order names "${property}", which is writeOnly: the order would reveal its values. ` +
        'Remove it from order.')
    }
    const branches = [propertySchema, ...getBranches(propertySchema)]
    if (branches.some(isUnorderedNumeral)) throw new BadOption(name, describeUnorderedNumeral('order', property))
    const types = branches.flatMap(({ type = [] }) => type)
    if (types.some((type) => type === 'object' || type === 'array')) {
      throw new BadOption(name, `order names "${property}", whose values cannot be ordered. ` +
        'Use properties that are strings, numbers or booleans.')
    }
  }
}

/** Checks that every required readOnly property gets a value. `filled` are the properties that the library sets. */
export function checkRequiredReadOnly (
  name: string,
  schema: JsonSchema,
  filled: ReadonlyArray<string | undefined>
): void {
  const checked = new Set<JsonSchema>()
  const check = (part: JsonSchema, path: string): void => {
    if (checked.has(part)) return
    checked.add(part)
    for (const [property, propertySchema] of Object.entries(part.properties ?? {})) {
      const propertyPath = path + property
      if (!hasAnnotation(propertySchema, 'readOnly', schema)) {
        check(propertySchema, `${propertyPath}.`)
        continue
      }
      const isFilled = propertySchema.default !== undefined || filled.includes(propertyPath)
      if (part.required?.includes(property) === true && !isFilled) {
        throw new UnfilledProperty(name, `"${propertyPath}"`)
      }
    }
    const related = [
      ...resolveSchema(part, schema),
      ...getBranches(part),
      ...getOpenSchemas(part),
      ...getItemSchemas(part)
    ]
    for (const other of related) check(other, path)
  }
  check(schema, '')
}
