import type { Collection } from '../../collection.ts'
import type { Problem } from '../../http/problems.ts'
import { condition, keyOf, operandOf } from '../../listing/conditions.ts'
import { parameterOf } from '../../listing/parameters.ts'
import { conjunction } from '../../listing/question.ts'
import type { Question } from '../../listing/question.ts'
import { badParameter } from '../../request/query.ts'
import type { Condition } from '../../storage/contract.ts'

// A condition as these clients write it: a name, perhaps with an operator at its end, and a value or several.

interface Ending {
  readonly is: Condition['is']
  readonly operand: (value: unknown) => unknown
}

const asItIs = (value: unknown): unknown => value
/** A text with nothing in it occurs in every other. */
const within = (value: unknown): unknown => value === '' ? undefined : typeof value === 'string' ? `*${value.replace(/[\\*]/g, '\\$&')}*` : value

/** Those of json-server, and those of FakeRest, after which react-admin calls its filters. */
const endings: Readonly<Record<string, Ending>> = {
  ne: { is: 'ne', operand: asItIs },
  neq: { is: 'ne', operand: asItIs },
  gt: { is: 'gt', operand: asItIs },
  gte: { is: 'gte', operand: asItIs },
  lt: { is: 'lt', operand: asItIs },
  lte: { is: 'lte', operand: asItIs },
  like: { is: 'like', operand: within }
}

interface Comparison {
  readonly name: string
  readonly value: unknown
}

/** In our own words; undefined where the name says nothing to us. A name that we know as it is means what it means to us. */
function own ({ listing: { filterable } }: Collection, { name, value }: Comparison): Comparison | undefined {
  if (keyOf(name, filterable) !== undefined) {
    const property = filterable.has(name)
    if (property && Array.isArray(value)) return { name: `${name}.in`, value }
    return property && value === null ? { name: `${name}.null`, value: true } : { name, value }
  }
  const [, property = '', end = ''] = /^(.+)_([a-z]+)$/.exec(name) ?? []
  if (!Object.hasOwn(endings, end)) return undefined
  const { is, operand } = endings[end]!
  return keyOf(`${property}.${is}`, filterable) === undefined ? undefined : { name: `${property}.${is}`, value: operand(value) }
}

/** The condition, or none where anything would fulfil it; undefined where the name says nothing to us. A value that does not fit is a 400, which tells it of the parameter. */
export function comparison (collection: Collection, given: Comparison, parameter: string): Condition[] | Problem | undefined {
  const found = own(collection, given)
  if (found === undefined) return undefined
  if (found.value === undefined) return []
  const { filterable } = collection.listing
  const key = keyOf(found.name, filterable)!
  // Several texts are read one by one, as a single one is.
  const one = keyOf(key.property, filterable)!
  const read = (value: unknown): unknown => typeof value === 'string' ? operandOf(one, value) : value
  const operand = Array.isArray(found.value) ? found.value.map(read) : typeof found.value === 'string' ? operandOf(key, found.value) : found.value
  const result = condition(key, operand)
  if ('wanted' in result) return badParameter(parameter, result.wanted, parameter === given.name ? parameter : `${parameter}, by ${given.name},`)
  return [result]
}

/** An empty input for a search sends a text with nothing in it. */
export function asksNothing (collection: Collection, { name, value }: Comparison): boolean {
  return name === 'q' && typeof value === 'string' && value.trim() === '' && parameterOf(collection, name) !== undefined
}

/** All of them have to hold. Who names items by their ids wants to see each, and not the first page of them. */
export function filtered ({ id }: Collection, conditions: readonly Condition[]): Question {
  if (conditions.length === 0) return {}
  const ids = conditions.find(({ property, is }) => property === id.property && is === 'in')?.value
  return { filter: conjunction(conditions), ...Array.isArray(ids) && { limit: Math.max(1, ids.length) } }
}
