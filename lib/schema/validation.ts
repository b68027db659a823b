import { Ajv2019 } from 'ajv/dist/2019.js'
import type { ValidateFunction } from 'ajv/dist/2019.js'
import addFormats from 'ajv-formats'
import { failures } from './failures.ts'
import type { Failure } from './failures.ts'
import type { JsonSchema } from '../storage/contract.ts'

export type Validator = (value: unknown) => readonly Failure[] | undefined

// Nothing is coerced, removed or filled in: what is stored is what was sent. Own, so that the app's validator stays as it is.
const ajv = new Ajv2019({ allErrors: true, ownProperties: true, strict: false, validateSchema: false, logger: false })
addFormats.default(ajv)

export function knowsFormat (format: string): boolean {
  return Object.hasOwn(ajv.formats, format)
}

export function validator (schema: JsonSchema): Validator {
  const validate = compiled(schema)
  // Whatever does not fit is told.
  return value => validate(value) ? undefined : failures(validate.errors!)
}

/** A recursive schema refers to itself by its `$id`; afterwards another schema may bear it. */
function compiled (schema: JsonSchema): ValidateFunction {
  try {
    return ajv.compile(schema)
  } finally {
    ajv.removeSchema(schema)
  }
}

const known = new WeakMap<JsonSchema, Validator>()

/** The validator of a schema, made when it is first needed. */
export function validatorOf (schema: JsonSchema): Validator {
  let validate = known.get(schema)
  if (validate === undefined) known.set(schema, validate = validator(schema))
  return validate
}
