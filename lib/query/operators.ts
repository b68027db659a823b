import type { Condition } from '../storage/contract.ts'
import { toSmallPattern } from '../storage/like-pattern.ts'
import type { QueryableProperty } from './queryable.ts'

// The operators of conditions. To add one, add it to `Condition` in the contract, to this table, to the conformance
// suite, and to the two places that compare values: memory/filter.ts and sql/condition-builder.ts.

export type OperatorName = Condition['is']

type Type = QueryableProperty['type']

/** What follows an operator. */
export type OperandKind = 'value' | 'values' | 'pattern' | 'boolean'

interface Operator {
  /** The types of properties that it compares; of arrays, those of their items. */
  readonly types: ReadonlySet<Type>
  readonly takes: OperandKind
  /** Whether it compares scalars, arrays or both. */
  readonly of: 'scalar' | 'array' | 'both'
  /** Whether it needs values that have an order. */
  readonly needsOrder?: boolean
  /** Continues the sentence "Only items whose price ...", for OpenAPI. */
  readonly means: string
  /** How many conditions it counts as. Each is tested for many rows. */
  cost? (value: unknown): number
}

const anyType: ReadonlySet<Type> = new Set(['string', 'number', 'integer', 'boolean'])
const orderedTypes: ReadonlySet<Type> = new Set(['string', 'number', 'integer'])
const stringType: ReadonlySet<Type> = new Set(['string'])

/** A pattern is compared with the whole text of a property, not only with its beginning. */
export const likeCost = 20

const equal = { types: anyType, takes: 'value', of: 'scalar' } as const
const ordered = { types: orderedTypes, takes: 'value', of: 'scalar', needsOrder: true } as const
const listed = { types: anyType, takes: 'values', of: 'scalar' } as const
const pattern = { types: stringType, takes: 'pattern', of: 'scalar' } as const

export const operators: Readonly<Record<OperatorName, Operator>> = {
  eq: { ...equal, means: 'equals this value' },
  ne: { ...equal, means: 'differs from this value or is null' },
  lt: { ...ordered, means: 'is less than this value' },
  lte: { ...ordered, means: 'is less than or equal to this value' },
  gt: { ...ordered, means: 'is greater than this value' },
  gte: { ...ordered, means: 'is greater than or equal to this value' },
  in: { ...listed, means: 'is one of these values' },
  nin: { ...listed, means: 'is none of these values or is null' },
  like: {
    ...pattern,
    means: 'matches this pattern: * matches any characters, \\ escapes the next one',
    cost: () => likeCost
  },
  ilike: {
    ...pattern,
    means: 'matches this pattern, whatever the case of letters: * matches any characters, \\ escapes the next one',
    // A text is searched for each of the letters.
    cost: (value) => likeCost + toSmallPattern(String(value)).letters.length
  },
  null: { types: anyType, takes: 'boolean', of: 'both', means: 'is null or missing (true), or is neither (false)' },
  contains: { types: anyType, takes: 'value', of: 'array', means: 'contains this value' },
  overlaps: { types: anyType, takes: 'values', of: 'array', means: 'contains one of these values' }
}

export function isOperator (name: string): name is OperatorName {
  return Object.hasOwn(operators, name)
}

/** Returns the operators that a property can be compared with. */
export function getOperators (queryable: QueryableProperty): OperatorName[] {
  return (Object.keys(operators) as OperatorName[]).filter((is) => canUse(queryable, is))
}

export function canUse ({ type, isArray, ordered, isNeverNull }: QueryableProperty, is: OperatorName): boolean {
  if (is === 'null' && isNeverNull === true) return false
  const { types, of, needsOrder } = operators[is]
  return types.has(type) && of !== (isArray ? 'scalar' : 'array') && (ordered || needsOrder !== true)
}
