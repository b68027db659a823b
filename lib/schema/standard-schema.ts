import { BadSchema } from '../errors/errors.ts'
import type { JsonSchema } from '../storage/contract.ts'
import type { Refinement } from './refinement.ts'
import { describeUnsupported, findUnsupported, getAdvice, getRefinement, toJsonSchemas } from './schema-libraries.ts'
import { simplifySchema } from './simplify-schema.ts'
import { isSchema } from '../json-schema/subschemas.ts'
import { DifferentSchemas, unifySchemas } from './unify-schemas.ts'

// Schemas of other libraries than TypeBox, by the interfaces of https://standardschema.dev.

/** What a schema of any library has that can be converted to JSON Schema. It is recognized by its structure. */
export interface StandardSchema {
  readonly '~standard': {
    readonly version: 1
    /** The name of the library. */
    readonly vendor: string
    /** Only the compiler uses them. */
    readonly types?: { readonly input: unknown, readonly output: unknown } | undefined
    readonly validate?: ((value: unknown) => StandardResult | Promise<StandardResult>) | undefined
    readonly jsonSchema: {
      readonly input: (options: ConversionOptions) => Record<string, unknown>
      readonly output: (options: ConversionOptions) => Record<string, unknown>
    }
  }
}

/** The argument of a converter. */
export interface ConversionOptions {
  readonly target: string
  readonly libraryOptions?: Record<string, unknown> | undefined
}

/** What `validate` of a schema returns: the value, or what is wrong with it. */
export interface StandardResult {
  readonly value?: unknown
  readonly issues?: readonly StandardIssue[] | undefined
}

/** Something that is wrong with a value. */
export interface StandardIssue {
  readonly message: string
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined
}

/** A schema as JSON Schema, and what its library checks beyond that. */
export interface ConvertedSchema {
  readonly schema: JsonSchema
  readonly refinement: Refinement | undefined
}

/**
 * Converts the schema of any library. What is JSON Schema already, such as a schema of TypeBox or what `toJSONSchema`
 * of zod returns, is returned as it is.
 */
export function convertSchema (name: string, schema: unknown): ConvertedSchema {
  const { properties, '~standard': standard } = Object(schema) as { properties?: unknown, '~standard'?: unknown }
  if (standard === undefined || isSchema(properties)) return { schema: schema as JsonSchema, refinement: undefined }
  const { vendor, jsonSchema } = Object(standard) as Partial<StandardSchema['~standard']>
  if (typeof vendor !== 'string') {
    throw new BadSchema(name, 'the schema has "~standard", but is not a Standard Schema: it has no vendor. ' +
      'Use a schema of TypeBox, zod, valibot or arktype.')
  }
  if (typeof jsonSchema?.input !== 'function' || typeof jsonSchema.output !== 'function') {
    throw new BadSchema(name, `the schema of ${vendor} has no JSON Schema. ${getAdvice(vendor)}`)
  }
  const { input, output } = callConverter(name, schema as StandardSchema)
  checkObject(name, input)
  return { schema: unify(name, input, output), refinement: getRefinement(schema as StandardSchema) }
}

interface Conversion {
  readonly input: JsonSchema
  readonly output: JsonSchema
}

/** The draft that all libraries can write. What differs from that of Ajv is rewritten afterwards. */
const target = 'draft-2020-12'

function callConverter (name: string, schema: StandardSchema): Conversion {
  const { vendor } = schema['~standard']
  let conversion: Conversion
  try {
    conversion = toJsonSchemas(schema, target)
  } catch (cause) {
    throw new BadSchema(name, `${vendor} cannot convert the schema to JSON Schema. ${toSentence(cause)} ` +
      'Use types that JSON has, and convert others in hooks.beforeValidation.')
  }
  for (const converted of [conversion.input, conversion.output]) {
    const found = findUnsupported(converted)
    if (found !== undefined) throw new BadSchema(name, describeUnsupported(vendor, found))
  }
  return { input: simplifySchema(conversion.input), output: simplifySchema(conversion.output) }
}

function toSentence (cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause)
  return message.endsWith('.') ? message : `${message}.`
}

function checkObject (name: string, { type, properties }: JsonSchema): void {
  if (type === 'object' && properties !== undefined) return
  const described = typeof type === 'string' && type !== 'object' ? `a value of the type ${type}` : 'no single object'
  throw new BadSchema(name, `the schema describes ${described}. ` +
    'Use an object with named properties, such as z.object({ id: ... }), and put unions and arrays into properties.')
}

function unify (name: string, input: JsonSchema, output: JsonSchema): JsonSchema {
  try {
    return unifySchemas(input, output)
  } catch (cause) {
    throw cause instanceof DifferentSchemas ? new BadSchema(name, cause.message) : cause
  }
}
