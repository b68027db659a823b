import type { JsonSchema } from '../storage/contract.ts'
import { mapSubschemas } from './simplify-schema.ts'
import type { Refinement } from './refinement.ts'
import type { StandardIssue, StandardResult, StandardSchema } from './standard-schema.ts'
import { isSchema } from '../json-schema/subschemas.ts'
import { isKnownFormat } from './validation.ts'

// What differs between the libraries. By default, a converter throws an error that does not say where, or leaves out
// what JSON Schema cannot express. The options here let it mark the place instead. Refinements are not marked: the
// library checks them after Ajv.

/** The keyword that marks what is unsupported. Its value says what it is. */
const unsupported = '~unsupported'

interface Unsupported {
  /** The path of the property; empty for the schema itself. */
  readonly path: string
  readonly kind: string
}

type Mark = Record<string, unknown>

/** Converts what a schema accepts, and what it makes of that. */
export function toJsonSchemas (schema: StandardSchema, target: string): { input: JsonSchema, output: JsonSchema } {
  const { vendor, jsonSchema } = schema['~standard']
  const libraryOptions = Object.hasOwn(options, vendor) ? options[vendor] : undefined
  const convert = (side: 'input' | 'output'): JsonSchema => {
    const own = vendor === 'arktype' ? convertArkType(schema, { target, ...libraryOptions }) : undefined
    const converted: unknown = own ?? jsonSchema[side]({ target, ...libraryOptions && { libraryOptions } })
    if (!isSchema(converted)) throw new TypeError(`It returns ${typeof converted} instead of an object`)
    return removeUndefined(converted)
  }
  return { input: convert('input'), output: convert('output') }
}

/** In a union, undefined says that the property is optional, which the schema of the object says as well. */
function removeUndefined (schema: JsonSchema): JsonSchema {
  const result = mapSubschemas(schema, removeUndefined)
  const { anyOf, ...rest } = result
  if (!Array.isArray(anyOf)) return result
  const defined = anyOf.filter((branch: JsonSchema) => branch[unsupported] !== 'undefined')
  if (defined.length === 0 || defined.length === anyOf.length) return result
  return defined.length === 1 ? { ...defined[0], ...rest } : { ...rest, anyOf: defined }
}

/** Finds the first part of a converted schema that is unsupported. */
export function findUnsupported (schema: JsonSchema, path = ''): Unsupported | undefined {
  const kind = schema[unsupported]
  if (typeof kind === 'string') return { path, kind }
  let found: Unsupported | undefined
  mapSubschemas(schema, (part, keyword, key) => {
    const inner = keyword === 'properties' ? [path, key].filter((name) => name !== '').join('.') : path
    found ??= findUnsupported(part, inner)
  })
  return found
}

/** Types of JavaScript, and what to use instead. */
const foreignTypes: Readonly<Record<string, string>> = {
  bigint: 'Use an integer from -9007199254740991 to 9007199254740991, or a string with a pattern of digits.',
  Map: 'Use a record.',
  Set: 'Use an array.',
  undefined: 'Make the property optional.',
  symbol: 'Use a string.',
  void: 'Make the property optional.',
  NaN: 'Use null.',
  function: 'Remove it.',
  promise: 'Remove it.',
  file: 'Use a string with its URL.'
}

const dateExamples: Readonly<Record<string, string>> = {
  zod: 'z.iso.datetime()',
  valibot: 'v.pipe(v.string(), v.isoTimestamp())',
  arktype: 'type(\'string.date.iso\').configure({ format: \'date-time\' })'
}

/** What schemas can have that a collection cannot apply, and what to do about it. */
const alternatives: Readonly<Record<string, string>> = {
  transformation: 'An item has one form, in requests, in the storage and in responses. ' +
    'Convert values in hooks.beforeValidation.',
  coercion: 'Content is not coerced. Remove coerce.',
  catch: 'Invalid content is refused. Use a default for content that is missing.',
  'date-time without an offset': 'Use v.isoTimestamp(): date-times are stored in UTC.'
}

/** In words, for an error at boot. */
export function describeUnsupported (vendor: string, { path, kind }: Unsupported): string {
  const where = path === '' ? 'the schema' : `the property "${path}" of the schema`
  if (kind === 'Date') {
    return `${where} is of the type Date, which JSON does not have. ` +
      `Use a string with the format date-time, such as ${dateExamples[vendor] ?? 'an ISO date-time'}.`
  }
  if (Object.hasOwn(foreignTypes, kind)) {
    return `${where} is of the type ${kind}, which JSON does not have. ${foreignTypes[kind]}`
  }
  if (Object.hasOwn(alternatives, kind)) return `${where} has a ${kind}. ${alternatives[kind]}`
  return `${where} cannot be written as JSON Schema: ${kind}. Use a type that JSON has.`
}

const converters: Readonly<Record<string, string>> = {
  valibot: 'Install @valibot/to-json-schema, and write schema: toStandardJsonSchema(schema).',
  zod: 'Install zod 4.2 or newer, and import it from zod: zod/mini has none.',
  arktype: 'Install arktype 2.1.28 or newer.'
}

/** What `safeParseAsync` of zod returns. */
interface ZodResult {
  readonly data?: unknown
  readonly error?: { readonly issues: readonly StandardIssue[] }
}

/**
 * Returns what the library checks, if it checks values. The function of zod calls refinements first without waiting for
 * them, and again if one returns a promise: a rejection of the first promise would end the process. So a schema of zod
 * that has refinements is checked by its asynchronous method.
 */
export function getRefinement (schema: StandardSchema): Refinement | undefined {
  const { vendor, validate } = schema['~standard']
  if (typeof validate !== 'function') return undefined
  const { safeParseAsync } = schema as { safeParseAsync?: (value: unknown) => Promise<ZodResult> }
  if (vendor !== 'zod' || typeof safeParseAsync !== 'function') {
    // arktype has no asynchronous refinements.
    return { vendor, validate: (value) => validate(value), callsApp: vendor !== 'arktype' }
  }
  if (!hasZodRefinements(schema)) return { vendor, validate: (value) => validate(value), callsApp: false }
  const validateAsync = async (value: unknown): Promise<StandardResult> => {
    const { data, error } = await safeParseAsync(value)
    return error === undefined ? { value: data } : { issues: error.issues }
  }
  return { vendor, validate: validateAsync, callsApp: true }
}

function hasZodRefinements (schema: StandardSchema): boolean {
  let found = false
  const override = ({ zodSchema: { _zod: { def } } }: ZodContext): void => {
    found ||= def.checks?.some(({ _zod }) => _zod.def.check === 'custom') === true
  }
  // The converter visits every part.
  const libraryOptions = { unrepresentable: 'any', override }
  schema['~standard'].jsonSchema.output({ target: 'draft-2020-12', libraryOptions })
  return found
}

/** What to do about a schema that its library cannot convert. */
export function getAdvice (vendor: string): string {
  if (Object.hasOwn(converters, vendor)) return converters[vendor]!
  return 'Use a version or a converter of the library that implements Standard JSON Schema, or convert the schema to ' +
    'JSON Schema yourself.'
}

interface ZodContext {
  readonly jsonSchema: Mark
  readonly zodSchema: { readonly _zod: { readonly def: ZodDefinition } }
}

interface ZodDefinition {
  readonly type: string
  readonly coerce?: boolean
  readonly format?: string
  readonly pattern?: RegExp
  readonly values?: readonly unknown[]
  readonly in?: { readonly _zod: { readonly def: { readonly type: string } } }
  readonly checks?: ReadonlyArray<{ readonly _zod: { readonly def: ZodCheck } }>
}

interface ZodCheck {
  readonly check?: string
  readonly pattern?: RegExp
}

const zodKinds: Readonly<Record<string, string>> = {
  date: 'Date',
  bigint: 'bigint',
  map: 'Map',
  set: 'Set',
  undefined: 'undefined',
  transform: 'transformation',
  catch: 'catch',
  void: 'void',
  nan: 'NaN',
  symbol: 'symbol',
  custom: 'a custom type',
  function: 'function',
  promise: 'promise',
  file: 'file'
}

function markZod ({ jsonSchema, zodSchema: { _zod: { def } } }: ZodContext): void {
  const { format, pattern, checks = [] } = def
  const kind = getZodKind(def)
  if (kind !== undefined) jsonSchema[unsupported] = kind
  const patterns = [pattern, ...checks.map(({ _zod }) => _zod.def.pattern)]
  if (patterns.some(hasFlags)) {
    delete jsonSchema.pattern
    delete jsonSchema.allOf
  }
  // A format of zod itself, which zod checks.
  if (format !== undefined && format === jsonSchema.format && !isKnownFormat(format)) delete jsonSchema.format
}

function getZodKind ({ type, coerce, values = [], in: before }: ZodDefinition): string | undefined {
  if (coerce === true) return 'coercion'
  if (values.some(isForeign)) return 'a literal that JSON does not have'
  // `z.preprocess()`
  return before?._zod.def.type === 'transform' ? 'transformation' : zodKinds[type]
}

function isForeign (value: unknown): boolean {
  return value === undefined || typeof value === 'bigint'
}

/** Whether flags change what a pattern matches. JSON Schema has none, so the library checks such a pattern alone. */
function isMeaningful (flags: string): boolean {
  return /[ims]/.test(flags)
}

function hasFlags (pattern: RegExp | undefined): boolean {
  return pattern !== undefined && isMeaningful(pattern.flags)
}

interface ValibotContext {
  readonly jsonSchema: Mark
  readonly errors?: readonly string[]
}

interface ValibotAction extends ValibotContext {
  readonly valibotAction: {
    readonly kind: string
    readonly type: string
    readonly requirement?: unknown
    readonly metadata?: Mark
  }
}

/** Transformations whose results are values of the same type. */
const sameType = new Set([
  'brand', 'flavor', 'readonly', 'trim', 'trim_start', 'trim_end', 'to_lower_case', 'to_upper_case', 'normalize',
  'to_min_value', 'to_max_value', 'filter_items', 'sort_items'
])

function markValibotAction ({ jsonSchema, errors, valibotAction }: ValibotAction): Mark | undefined {
  const { kind, type, requirement, metadata } = valibotAction
  // Versions before 1.8 leave out `readOnly` and the like.
  if (metadata !== undefined) return { ...metadata, ...jsonSchema }
  if (type === 'iso_date_time') return { ...jsonSchema, [unsupported]: 'date-time without an offset' }
  if (errors === undefined) return undefined
  if (kind === 'transformation' && !sameType.has(type)) return { ...jsonSchema, [unsupported]: 'transformation' }
  if (!(requirement instanceof RegExp) || !hasFlags(requirement)) return jsonSchema
  const { pattern, ...rest } = jsonSchema
  return pattern === requirement.source ? rest : jsonSchema
}

const valibotKinds: Readonly<Record<string, string>> = {
  date: 'Date',
  bigint: 'bigint',
  map: 'Map',
  set: 'Set',
  undefined: 'undefined'
}

function markValibotSchema (
  { errors, valibotSchema }: ValibotContext & { readonly valibotSchema: { readonly type: string } }
): Mark | undefined {
  return errors && { [unsupported]: valibotKinds[valibotSchema.type] ?? errors.join(' ').replace(/\.$/, '') }
}

interface ArkTypeContext {
  readonly base: Mark
  readonly domain?: string
  readonly proto?: { readonly name: string }
  readonly unit?: unknown
}

const keepBase = ({ base }: ArkTypeContext): Mark => base

const arkTypeFallback = {
  arrayObject: keepBase,
  arrayPostfix: keepBase,
  patternIntersection: keepBase,
  predicate: keepBase,
  date: () => ({ [unsupported]: 'Date' }),
  domain: ({ domain }: ArkTypeContext) => ({ [unsupported]: domain }),
  proto: ({ proto }: ArkTypeContext) => ({ [unsupported]: proto?.name }),
  unit: ({ unit }: ArkTypeContext) => ({ [unsupported]: unit === undefined ? 'undefined' : typeof unit }),
  morph: ({ base }: ArkTypeContext) => ({ ...base, [unsupported]: 'transformation' }),
  defaultValue: () => undefined
}

interface ArkType {
  toJsonSchema? (options: object): JsonSchema
  select? (kind: string): ReadonlyArray<{ readonly rule: string, readonly flags?: string }>
}

/** Its Standard JSON Schema has no defaults. What its own method returns has them. */
function convertArkType (schema: StandardSchema & ArkType, parameters: object): JsonSchema | undefined {
  const flagged = (schema.select?.('pattern') ?? []).filter(({ flags = '' }) => isMeaningful(flags))
  const patterns = new Set<unknown>(flagged.map(({ rule }) => rule))
  const removePatterns = (part: JsonSchema): JsonSchema => {
    const { pattern, ...rest } = mapSubschemas(part, removePatterns)
    return pattern === undefined || patterns.has(pattern) ? rest : { ...rest, pattern }
  }
  const converted = schema.toJsonSchema?.(parameters)
  return converted && removePatterns(converted)
}

const options: Readonly<Record<string, Record<string, unknown>>> = {
  zod: { unrepresentable: 'any', override: markZod },
  valibot: { overrideAction: markValibotAction, overrideSchema: markValibotSchema },
  arktype: { fallback: arkTypeFallback }
}
