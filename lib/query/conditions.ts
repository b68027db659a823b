import type { Condition, JsonSchema, Scalar } from '../storage/contract.ts'
import { splitUnescaped } from '../storage/like-pattern.ts'
import { normalizeOperand } from '../schema/date-times.ts'
import { rangeMessages } from '../schema/ranges.ts'
import { getValidator } from '../schema/validation.ts'
import { joinNames } from './join-names.ts'
import type { Names } from './names.ts'
import { canUse, getOperators, isOperator, operators } from './operators.ts'
import type { OperandKind, OperatorName } from './operators.ts'
import type { QueryableProperty } from './queryable.ts'

type Type = QueryableProperty['type']

/** Databases limit the number of values in a statement. */
export const maxValues = 1000

/** The time that a database needs for a pattern grows with both. */
const maxPatternLength = 200
const maxWildcards = 5

/** The left side of a condition, such as `price.gte`. `price` alone means `price.eq`. */
export interface FilterKey {
  readonly property: string
  readonly is: OperatorName
  /** The schema of the operand. */
  readonly schema: JsonSchema
  readonly takes: OperandKind
  readonly type: Type
}

type QueryableProperties = ReadonlyMap<string, QueryableProperty>

/** Parses the name of a condition; undefined if the property or the operator is unknown. */
export function parseFilterKey (name: string, properties: Names): FilterKey | undefined {
  const property = properties.get(name)
  if (property?.isArray === false) return createKey(property, 'eq')
  const { queryable, is } = splitKey(name, properties)
  return queryable !== undefined && isOperator(is) && canUse(queryable, is) ? createKey(queryable, is) : undefined
}

interface SplitKey {
  readonly queryable: QueryableProperty | undefined
  readonly is: string
}

function splitKey (name: string, properties: Names): SplitKey {
  const dot = name.lastIndexOf('.')
  return { queryable: dot < 0 ? undefined : properties.get(name.slice(0, dot)), is: name.slice(dot + 1) }
}

/** Returns a sentence that lists the keys a client could have meant. */
export function suggestKeys (name: string, properties: Names): string {
  const queryable = properties.get(name) ?? splitKey(name, properties).queryable
  if (queryable === undefined) return `A list can be filtered by: ${joinNames(properties.keys(), name) || 'nothing'}.`
  return `${queryable.property} can be followed by: ${getOperators(queryable).map((is) => `.${is}`).join(', ')}.`
}

function createKey ({ property, type, schema }: QueryableProperty, is: OperatorName): FilterKey {
  const { takes } = operators[is]
  return { property, is, takes, type, schema: operandSchemas[takes](schema) }
}

const patternSchema: JsonSchema = {
  type: 'string',
  maxLength: maxPatternLength,
  description: '* matches any characters, \\ escapes the next character'
}
const booleanSchema: JsonSchema = { type: 'boolean' }

const operandSchemas: Readonly<Record<OperandKind, (schema: JsonSchema) => JsonSchema>> = {
  value: (schema) => schema,
  values: (schema) => ({ type: 'array', items: schema, maxItems: maxValues }),
  pattern: () => patternSchema,
  boolean: () => booleanSchema
}

/** Yields every key and its name. A property with the name of a parameter can only be filtered with `.eq`. */
export function * getFilterKeys (
  properties: QueryableProperties,
  parameters: ReadonlySet<string>
): Generator<[name: string, key: FilterKey]> {
  for (const queryable of properties.values()) {
    const { property } = queryable
    for (const is of getOperators(queryable)) {
      const isBare = is === 'eq' && !parameters.has(property)
      yield [isBare ? property : `${property}.${is}`, createKey(queryable, is)]
    }
  }
}

/** Returns the condition; or, if the operand is invalid, what it must be. */
export function parseCondition (key: FilterKey, operand: unknown): Condition | { readonly expected: string } {
  const { property, is, schema, takes, type } = key
  const valueSchema = takes === 'values' ? schema.items as JsonSchema : schema
  if (!isOperand(operand, takes, valueSchema)) return { expected: describeOperand(takes, type, valueSchema) }
  // The schema of the operand allows only what the operator takes.
  const condition = { property, is, value: operand } as Condition
  return valueSchema.format === 'date-time' ? normalizeOperand(condition) : condition
}

function isOperand (operand: unknown, takes: OperandKind, valueSchema: JsonSchema): boolean {
  if (takes !== 'values') return isComparable(operand, valueSchema) && (takes !== 'pattern' || isPattern(operand))
  return Array.isArray(operand) &&
    operand.length <= maxValues &&
    operand.every((value) => isComparable(value, valueSchema))
}

function isPattern (operand: Scalar): boolean {
  return String(operand).replace(/\\[^]/g, '').split('*').length <= maxWildcards + 1
}

/** Whether a storage can compare a property with the value: it has the type, and could have been stored. */
export function isComparable (value: unknown, schema: JsonSchema): value is Scalar {
  if (typeof value === 'string' && (!value.isWellFormed() || value.includes('\0'))) return false
  if (typeof value === 'number') {
    const isStorable = schema.type === 'integer' ? Number.isSafeInteger(value) : Number.isFinite(value)
    if (!isStorable) return false
  }
  return getValidator(schema)(value) === undefined
}

const typeNames: Readonly<Record<Type, string>> = {
  string: 'text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false'
}

function describeOperand (takes: OperandKind, type: Type, { enum: allowed, format }: JsonSchema): string {
  if (takes === 'boolean') return typeNames.boolean
  if (takes === 'pattern') {
    return `text of up to ${maxPatternLength} characters, ` +
      `in which * stands for any characters, up to ${maxWildcards} times`
  }
  const value = Array.isArray(allowed) ? `one of ${allowed.join(', ')}` : describeValue(type, format)
  return takes === 'values' ? `up to ${maxValues} values, each ${value}` : value
}

function describeValue (type: Type, format: string | undefined): string {
  if (type === 'integer') return rangeMessages.integer.replace('must be an integer', 'a whole number')
  if (format === undefined) return typeNames[type]
  if (format !== 'date-time' && format !== 'date') return `${typeNames[type]} of the format ${format}`
  const message = rangeMessages[format]
  return `${typeNames[type]} of the format ${format}${message.slice(message.indexOf(' from '))}`
}

const numberPattern = /^-?\d{1,400}(?:\.\d{1,400})?(?:e[+-]?\d{1,3})?$/i

/** Text that cannot be parsed is returned as it is, and refused by the schema of the operand. */
const valueParsers: Readonly<Record<Type, (text: string) => unknown>> = {
  string: (text) => text,
  number: (text) => numberPattern.test(text) ? Number(text) : text,
  integer: (text) => numberPattern.test(text) ? Number(text) : text,
  boolean: parseBoolean
}

function parseBoolean (text: string): unknown {
  if (text === 'true') return true
  return text === 'false' ? false : text
}

/** Parses an operand in a query string. */
export function parseOperand ({ takes, type }: FilterKey, text: string): unknown {
  if (takes === 'pattern') return text
  if (takes === 'boolean') return parseBoolean(text)
  if (takes === 'value') return valueParsers[type](text)
  return text === '' ? [] : splitUnescaped(text, ',').map(valueParsers[type])
}

/** Formats an operand for a query string; undefined if it cannot be expressed. */
export function formatOperand (operand: Condition['value']): string | undefined {
  if (!Array.isArray(operand)) return String(operand)
  // Empty text means a list without values.
  if (operand.length === 1 && operand[0] === '') return undefined
  return operand.map((value) => String(value).replace(/[\\,]/g, '\\$&')).join()
}
