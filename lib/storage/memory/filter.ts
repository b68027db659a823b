import type { Condition, Filter, Query } from '../contract.ts'
import { wordMatcher } from '../search-words.ts'
import { property } from './property.ts'
import { compare } from './order.ts'

export type Predicate = (item: object) => boolean

/** Two-valued: `not` gives exactly the rest, and what is null is neither less nor greater than a value, nor equal to one. */
export function filter (by: Filter): Predicate {
  if ('all' in by) {
    const parts = by.all.map(filter)
    return (item) => parts.every((part) => part(item))
  }
  if ('any' in by) {
    const parts = by.any.map(filter)
    return (item) => parts.some((part) => part(item))
  }
  if ('not' in by) {
    const part = filter(by.not)
    return (item) => !part(item)
  }
  const read = property(by.property)
  const holds = condition(by)
  return (item) => holds(read(item))
}

function condition (by: Condition): (value: unknown) => boolean {
  switch (by.is) {
    case 'eq': return (value) => value === by.value
    case 'ne': return (value) => value !== by.value
    case 'lt': return (value) => typeof value === typeof by.value && compare(value, by.value) < 0
    case 'lte': return (value) => typeof value === typeof by.value && compare(value, by.value) <= 0
    case 'gt': return (value) => typeof value === typeof by.value && compare(value, by.value) > 0
    case 'gte': return (value) => typeof value === typeof by.value && compare(value, by.value) >= 0
    case 'in': return among(by.value)
    case 'nin': return not(among(by.value))
    case 'like': return like(by.value)
    case 'null': return (value) => (value === null) === by.value
  }
}

function among (values: readonly unknown[]): (value: unknown) => boolean {
  const set = new Set(values)
  return (value) => set.has(value)
}

function not (holds: (value: unknown) => boolean): (value: unknown) => boolean {
  return (value) => !holds(value)
}

/** Finds the runs between the stars one after the other: no pattern of a client can make it slow. */
function like (pattern: string): (value: unknown) => boolean {
  const [first = '', ...runs] = split(pattern)
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

function split (pattern: string): string[] {
  const runs: string[] = []
  let run = ''
  for (const [token] of pattern.matchAll(/\\?[^]/gu)) {
    if (token === '*') {
      runs.push(run)
      run = ''
    } else {
      run += token.length > 1 && token.startsWith('\\') ? token.slice(1) : token
    }
  }
  return [...runs, run]
}

export function search ({ words, properties }: NonNullable<Query['search']>): Predicate {
  const matches = wordMatcher(words)
  const reads = properties.map(property)
  return (item) => matches(reads.map((read) => read(item)))
}
