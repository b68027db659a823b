import { Ajv2019 } from 'ajv/dist/2019.js'
import type { ValidateFunction } from 'ajv/dist/2019.js'
import addFormats from 'ajv-formats'
import { addWorkLimits, runLimited } from './work-limits.ts'
import { addErrorLimit } from './error-limit.ts'
import { hasLongPointers, toFailures } from './failures.ts'
import type { Failure } from './failures.ts'
import { addRangeKeyword, restrictRanges } from './ranges.ts'
import type { JsonSchema } from '../storage/contract.ts'
import { isPlainInstant } from '../storage/instant.ts'

/** Returns what is wrong with a value; undefined if it is valid. */
export type Validator = (value: unknown) => readonly Failure[] | undefined

/** Not the validator of the app: this one coerces, removes and fills in nothing, so that content is stored as sent. */
function createAjv (allErrors: boolean): Ajv2019 {
  const ajv = new Ajv2019({
    allErrors,
    ownProperties: true,
    strict: false,
    validateSchema: false,
    logger: false
  })
  return addErrorLimit(addRangeKeyword(addWorkLimits(addInstants(addFormats.default(ajv)))))
}

interface DateTimeFormat {
  readonly validate: (text: string) => boolean
  readonly compare: (a: string, b: string) => number | undefined
}

/**
 * Most date-times of stored items are in canonical form. To recognize those first saves 9 % of a custom action in a
 * loop: ajv-formats splits the text, and matches each part with a regular expression.
 */
function addInstants (ajv: Ajv2019): Ajv2019 {
  // ajv-formats defines this format as an object with a function and a comparison.
  const { validate, compare } = ajv.formats['date-time'] as DateTimeFormat
  return ajv.addFormat('date-time', { validate: (text: string) => isPlainInstant(text) || validate(text), compare })
}

/** Stops at the first error. Valid content, the usual case, is checked by this one alone. */
const firstErrorAjv = createAjv(false)
const allErrorsAjv = createAjv(true)

/** Whether a text matches the format `date-time`. */
export function isDateTime (text: string): boolean {
  return (allErrorsAjv.formats['date-time'] as DateTimeFormat).validate(text)
}

export function isKnownFormat (format: string): boolean {
  return Object.hasOwn(allErrorsAjv.formats, format)
}

const tooComplex: readonly Failure[] = [{ pointer: '', message: 'is nested in too many ways to be validated' }]

/** Compiles a validator for a schema. Throws if Ajv cannot compile it. */
export function compileValidator (schema: JsonSchema): Validator {
  const validateFirst = compileWith(firstErrorAjv, schema)
  let validateAll: ValidateFunction | undefined
  return (value) => {
    const isValid = runLimited(validateFirst, value, { least: 2500, perPart: 5 })
    if (isValid === undefined) return tooComplex
    if (isValid) return undefined
    // Only the first error is reported if the others would repeat a long name, or if finding them takes too long.
    if (hasLongPointers(value)) return toFailures(validateFirst.errors!)
    validateAll ??= compileWith(allErrorsAjv, schema)
    const hasFinished = runLimited(validateAll, value, { least: 500, perPart: 1 }) !== undefined
    return toFailures((hasFinished ? validateAll : validateFirst).errors!)
  }
}

/** Forgets the schema afterwards, because another schema may have the same `$id`. */
function compileWith (ajv: Ajv2019, schema: JsonSchema): ValidateFunction {
  const restricted = restrictRanges(schema)
  try {
    return ajv.compile(restricted)
  } finally {
    ajv.removeSchema(restricted)
  }
}

const validators = new WeakMap<JsonSchema, Validator>()

/** Returns the validator of a schema, and compiles it on first use. */
export function getValidator (schema: JsonSchema): Validator {
  let validate = validators.get(schema)
  if (validate === undefined) {
    validate = compileValidator(schema)
    validators.set(schema, validate)
  }
  return validate
}
