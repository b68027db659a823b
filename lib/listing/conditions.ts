import type { Condition, JsonSchema, Scalar } from '../storage/contract.ts'
import { canonicalOperand } from '../schema/date-times.ts'
import { ranges } from '../schema/storable.ts'
import { validatorOf } from '../schema/validation.ts'
import type { Queryable } from './queryable.ts'

type Operator = Condition['is']
type Type = Queryable['type']
type Operand = 'value' | 'values' | 'pattern' | 'truth'

const any: ReadonlySet<Type> = new Set(['string', 'number', 'integer', 'boolean'])
const ordered: ReadonlySet<Type> = new Set(['string', 'number', 'integer'])
const text: ReadonlySet<Type> = new Set(['string'])

/** Operator -> the types that it compares, and what it compares them with. */
const operators: Readonly<Record<Operator, { readonly types: ReadonlySet<Type>, readonly takes: Operand }>> = {
  eq: { types: any, takes: 'value' },
  ne: { types: any, takes: 'value' },
  lt: { types: ordered, takes: 'value' },
  lte: { types: ordered, takes: 'value' },
  gt: { types: ordered, takes: 'value' },
  gte: { types: ordered, takes: 'value' },
  in: { types: any, takes: 'values' },
  nin: { types: any, takes: 'values' },
  like: { types: text, takes: 'pattern' },
  null: { types: any, takes: 'truth' }
}

/** More make no statement that a database would take. */
export const mostValues = 1000

/** The time that a database needs for a pattern grows with both. */
const longestPattern = 200
const mostStars = 5

/** `price.gte`: what a condition is about. `price` alone is `price.eq`. */
export interface Key {
  readonly property: string
  readonly is: Operator
  /** What the operand must be. */
  readonly schema: JsonSchema
  readonly takes: Operand
  readonly type: Type
}

export function keyOf (name: string, properties: ReadonlyMap<string, Queryable>): Key | undefined {
  const whole = properties.get(name)
  if (whole !== undefined) return key(whole, 'eq')
  const { queryable, is } = parted(name, properties)
  return queryable !== undefined && isOperator(is) && compares(queryable, is) ? key(queryable, is) : undefined
}

function parted (name: string, properties: ReadonlyMap<string, Queryable>): { readonly queryable: Queryable | undefined, readonly is: string } {
  const dot = name.lastIndexOf('.')
  return { queryable: dot < 0 ? undefined : properties.get(name.slice(0, dot)), is: name.slice(dot + 1) }
}

function isOperator (name: string): name is Operator {
  return Object.hasOwn(operators, name)
}

/** What could have been meant by a key that is none, in a sentence. */
export function keysLike (name: string, properties: ReadonlyMap<string, Queryable>): string {
  const { queryable } = parted(name, properties)
  if (queryable === undefined) return `A list can be filtered by: ${[...properties.keys()].join(', ') || 'nothing'}.`
  return `${queryable.property} can be followed by: ${operatorsOf(queryable).map(is => `.${is}`).join(', ')}.`
}

function operatorsOf (queryable: Queryable): Operator[] {
  // The names of a table of operators are operators.
  return (Object.keys(operators) as Operator[]).filter(is => compares(queryable, is))
}

const inOrder: ReadonlySet<Operator> = new Set<Operator>(['lt', 'lte', 'gt', 'gte'])

function compares ({ type, ordered }: Queryable, is: Operator): boolean {
  return operators[is].types.has(type) && (ordered || !inOrder.has(is))
}

function key ({ property, type, schema }: Queryable, is: Operator): Key {
  const { takes } = operators[is]
  return { property, is, takes, type, schema: operands[takes](schema) }
}

const pattern: JsonSchema = { type: 'string', maxLength: longestPattern, description: '* stands for any run of characters, \\ takes the next one as it is' }
const truth: JsonSchema = { type: 'boolean' }

const operands: Readonly<Record<Operand, (schema: JsonSchema) => JsonSchema>> = {
  value: schema => schema,
  values: schema => ({ type: 'array', items: schema, maxItems: mostValues }),
  pattern: () => pattern,
  truth: () => truth
}

/** Every key that the properties can be asked by, and its name; what is called like a parameter is asked by `.eq`. */
export function * keys (properties: ReadonlyMap<string, Queryable>, parameters: ReadonlySet<string>): Generator<[name: string, key: Key]> {
  for (const queryable of properties.values()) {
    for (const is of operatorsOf(queryable)) yield [is === 'eq' && !parameters.has(queryable.property) ? queryable.property : `${queryable.property}.${is}`, key(queryable, is)]
  }
}

/** The condition, or what its operand would must be. */
export function condition ({ property, is, schema, takes, type }: Key, operand: unknown): Condition | { readonly wanted: string } {
  const items = takes === 'values' ? schema.items as JsonSchema : schema
  const valid = takes === 'values' ? Array.isArray(operand) && operand.length <= mostValues && operand.every(value => fits(value, items)) : fits(operand, schema) && (takes !== 'pattern' || isPattern(operand))
  if (!valid) return { wanted: wanted(takes, type, items) }
  // What fits the schema of the operand is what the operator takes.
  const condition = { property, is, value: operand } as Condition
  return items.format === 'date-time' ? canonicalOperand(condition) : condition
}

function isPattern (operand: Scalar): boolean {
  return String(operand).replace(/\\[^]/g, '').split('*').length <= mostStars + 1
}

/** Whether a storage can compare with it: as the reader of content has it, nothing gets there that text or numbers cannot keep. */
export function fits (value: unknown, schema: JsonSchema): value is Scalar {
  if (typeof value === 'string' && (!value.isWellFormed() || value.includes('\0'))) return false
  if (typeof value === 'number' && !(schema.type === 'integer' ? Number.isSafeInteger(value) : Number.isFinite(value))) return false
  return validatorOf(schema)(value) === undefined
}

const nouns: Readonly<Record<Type, string>> = { string: 'text', number: 'a number', integer: 'a whole number', boolean: 'true or false' }

function wanted (takes: Operand, type: Type, { enum: allowed, format }: JsonSchema): string {
  if (takes === 'truth') return nouns.boolean
  if (takes === 'pattern') return `text of up to ${longestPattern} characters, in which * stands for any characters, up to ${mostStars} times`
  const one = Array.isArray(allowed) ? `one of ${allowed.join(', ')}` : kindOfValue(type, format)
  return takes === 'values' ? `up to ${mostValues} values, each ${one}` : one
}

function kindOfValue (type: Type, format: string | undefined): string {
  if (type === 'integer') return ranges.integer.replace('must be an integer', 'a whole number')
  if (format === undefined) return nouns[type]
  const range = format === 'date-time' || format === 'date' ? ranges[format].slice(ranges[format].indexOf(' from ')) : ''
  return `${nouns[type]} of the format ${format}${range}`
}

const number = /^-?\d{1,400}(?:\.\d{1,400})?(?:e[+-]?\d{1,3})?$/i

const readings: Readonly<Record<Type, (text: string) => unknown>> = {
  string: text => text,
  number: text => number.test(text) ? Number(text) : text,
  integer: text => number.test(text) ? Number(text) : text,
  boolean: text => text === 'true' ? true : text === 'false' ? false : text
}

/** The operand that a text in a query string means. */
export function operandOf ({ takes, type }: Key, text: string): unknown {
  if (takes === 'pattern') return text
  if (takes === 'truth') return readings.boolean(text)
  if (takes === 'value') return readings[type](text)
  return text === '' ? [] : values(text).map(readings[type])
}

/** Parted by commas; `\` takes the next character as it is. */
function values (text: string): string[] {
  const values: string[] = []
  let value = ''
  for (const [token] of text.matchAll(/\\?[^]/gu)) {
    if (token === ',') {
      values.push(value)
      value = ''
    } else value += token.length > 1 && token.startsWith('\\') ? token.slice(1) : token
  }
  return [...values, value]
}

/** The text in a query string that means the operand; undefined where there is none. */
export function textOf (operand: Condition['value']): string | undefined {
  if (!Array.isArray(operand)) return String(operand)
  // Nothing at all is the text of no value.
  if (operand.length === 1 && operand[0] === '') return undefined
  return operand.map(value => String(value).replace(/[\\,]/g, '\\$&')).join()
}
