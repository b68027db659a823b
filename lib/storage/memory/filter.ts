import type { Condition, Filter, ItemFilter, Query, RelatedCondition } from '../contract.ts'
import { splitPattern, toSmallPattern } from '../like-pattern.ts'
import { createWordMatcher } from '../search-words.ts'
import { compareValues } from './order.ts'
import { createReader } from './property.ts'

export type Predicate = (item: object) => boolean

/** Compiles a condition about the rows of another storage. */
export type CompileRelated = (condition: RelatedCondition) => Predicate

type Test = (value: unknown) => boolean

/** Compiles a filter. `not` matches exactly the rest; null is neither less than, greater than nor equal to a value. */
export function compileFilter (filter: ItemFilter): Predicate
export function compileFilter (filter: Filter, compileRelated: CompileRelated): Predicate
export function compileFilter (filter: Filter, compileRelated?: CompileRelated): Predicate {
  // Without the function, the filter has no related conditions.
  const compile = (part: Filter) => compileFilter(part, compileRelated!)
  if ('all' in filter) {
    const parts = filter.all.map(compile)
    return (item) => parts.every((part) => part(item))
  }
  if ('any' in filter) {
    const parts = filter.any.map(compile)
    return (item) => parts.some((part) => part(item))
  }
  if ('not' in filter) {
    const part = compile(filter.not)
    return (item) => !part(item)
  }
  if ('related' in filter) return compileRelated!(filter)
  const read = createReader(filter.property)
  const test = compileCondition(filter)
  return (item) => test(read(item))
}

function compileCondition (condition: Condition): Test {
  switch (condition.is) {
    case 'eq': return (value) => value === condition.value
    case 'ne': return (value) => value !== condition.value
    case 'lt': return (value) => isSameType(value, condition) && compareValues(value, condition.value) < 0
    case 'lte': return (value) => isSameType(value, condition) && compareValues(value, condition.value) <= 0
    case 'gt': return (value) => isSameType(value, condition) && compareValues(value, condition.value) > 0
    case 'gte': return (value) => isSameType(value, condition) && compareValues(value, condition.value) >= 0
    case 'in': return compileIn(condition.value)
    case 'nin': return negate(compileIn(condition.value))
    case 'like': return compileLike(condition.value)
    case 'ilike': return compileIlike(condition.value)
    case 'null': return (value) => (value === null) === condition.value
    case 'contains': return compileHasItem((item) => item === condition.value)
    case 'overlaps': return compileHasItem(compileIn(condition.value))
  }
}

function compileHasItem (test: Test): Test {
  return (value) => Array.isArray(value) && value.some(test)
}

function isSameType (value: unknown, condition: Condition): boolean {
  return typeof value === typeof condition.value
}

function compileIn (values: readonly unknown[]): Test {
  const set = new Set(values)
  return (value) => set.has(value)
}

function negate (test: Test): Test {
  return (value) => !test(value)
}

/** Finds the texts between the stars one after the other: no pattern of a client can make it slow. */
function compileLike (pattern: string): Test {
  const [first = '', ...runs] = splitPattern(pattern)
  const last = runs.pop()
  if (last === undefined) return (value) => value === first
  return (value) => {
    if (typeof value !== 'string' || !value.startsWith(first)) return false
    let end = first.length
    for (const run of runs) {
      const start = value.indexOf(run, end)
      if (start < 0) return false
      end = start + run.length
    }
    return value.length - last.length >= end && value.endsWith(last)
  }
}

function compileIlike (given: string): Test {
  const { pattern, letters } = toSmallPattern(given)
  const test = compileLike(pattern)
  const toSmall = (text: string) => {
    const small = text.replace(/[A-Z]+/g, (capitals) => capitals.toLowerCase())
    return letters.reduce((part, [letter, small]) => part.replaceAll(letter, small), small)
  }
  return (value) => typeof value === 'string' && test(toSmall(value))
}

/** Compiles a search. */
export function compileSearch ({ words, properties }: NonNullable<Query['search']>): Predicate {
  const matches = createWordMatcher(words)
  const readers = properties.map(createReader)
  return (item) => matches(readers.map((read) => read(item)))
}
