import { Ajv2019 } from 'ajv/dist/2019.js'
import type { ValidateFunction } from 'ajv/dist/2019.js'
import addFormats from 'ajv-formats'
import { affordable, bounded } from './effort.ts'
import { failures } from './failures.ts'
import type { Failure } from './failures.ts'
import { addRanges, withRanges } from './storable.ts'
import type { JsonSchema } from '../storage/contract.ts'

export type Validator = (value: unknown) => readonly Failure[] | undefined

// Nothing is coerced, removed or filled in: what is stored is what was sent. Own, so that the app's validator stays as it is.
function rules (allErrors: boolean): Ajv2019 {
  return addRanges(bounded(addFormats.default(new Ajv2019({ allErrors, ownProperties: true, strict: false, validateSchema: false, logger: false }))))
}

/** Ends at the first failure, so that what fits costs least. */
const brief = rules(false)
const thorough = rules(true)

/** By the grammar of the format alone. */
export function isDateTime (text: string): boolean {
  // ajv-formats gives a function with its comparison.
  return (thorough.formats['date-time'] as { validate: (text: string) => boolean }).validate(text)
}

export function knowsFormat (format: string): boolean {
  return Object.hasOwn(thorough.formats, format)
}

const tooComplex: readonly Failure[] = [{ pointer: '', message: 'is nested in too many ways to be validated' }]

export function validator (schema: JsonSchema): Validator {
  const fits = compiled(brief, schema)
  let told: ValidateFunction | undefined
  return value => {
    const answer = affordable(fits, value, 10)
    if (answer !== false) return answer === undefined ? tooComplex : undefined
    // Where to tell everything would take too long, the first failure is told. Whatever does not fit has one.
    const all = told ??= compiled(thorough, schema)
    const ended = affordable(all, value, 1) === undefined ? fits : all
    return failures(ended.errors!)
  }
}

/** A recursive schema refers to itself by its `$id`; afterwards another schema may bear it. */
function compiled (ajv: Ajv2019, schema: JsonSchema): ValidateFunction {
  const bounded = withRanges(schema)
  try {
    return ajv.compile(bounded)
  } finally {
    ajv.removeSchema(bounded)
  }
}

const known = new WeakMap<JsonSchema, Validator>()

/** The validator of a schema, made when it is first needed. */
export function validatorOf (schema: JsonSchema): Validator {
  let validate = known.get(schema)
  if (validate === undefined) known.set(schema, validate = validator(schema))
  return validate
}
