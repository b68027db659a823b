import type { Collection } from '../collection.ts'
import { pointer } from '../http/json-pointer.ts'
import { isObject } from '../http/json-value.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import type { Condition, Filter } from '../storage/contract.ts'
import { condition, keyOf, keysLike } from './conditions.ts'
import { FilterCost } from './filter-cost.ts'
import { parameterOf } from './parameters.ts'
import { addPart, conjunction } from './question.ts'
import type { Question } from './question.ts'

// RFC 10008: the content of a QUERY asks what a query string can, and more: `all`, `any` and `not` at any depth, and long lists of values.

const deepest = 16
/** More would tell a person nothing. */
const mostFailures = 100

/** Something that is not understood, and where. */
interface Failure {
  readonly pointer: string
  readonly message: string
}

type Path = readonly string[]

/** The question; 422 names every property that is not understood. */
export function parseQueryContent (collection: Collection, content: unknown): Question | Problem {
  const reader = new Reader(collection)
  const question = reader.question(content)
  if (reader.failures.length === 0) return question
  return problem('validation-failed', { detail: 'The query is invalid.', members: { errors: reader.failures.slice(0, mostFailures) } })
}

class Reader {
  readonly failures: Failure[] = []
  readonly #collection: Collection
  readonly #cost = new FilterCost()
  #exceeded = false

  constructor (collection: Collection) {
    this.#collection = collection
  }

  question (content: unknown): Question {
    const question: Question = {}
    if (!isObject(content)) this.#fail([], 'must be an object')
    else for (const [name, value] of Object.entries(content)) addPart(question, this.#part(name, value) ?? {})
    return question
  }

  #part (name: string, value: unknown): Question | undefined {
    if (name === 'filter') {
      const filter = this.#filter(value, [name], 1)
      // Where nothing is asked, everything fits.
      return filter === undefined || ('all' in filter && filter.all.length === 0) ? undefined : { filter }
    }
    const part = parameterOf(this.#collection, name)?.read(this.#collection, value)
    if (part === undefined) return this.#fail([name], `is not a known property. A query can have: filter, ${[...this.#collection.listing.parameters].join(', ')}.`)
    return typeof part === 'string' ? this.#fail([name], `must be ${part}`) : part
  }

  /** Several conditions in one object all have to hold. */
  #filter (value: unknown, at: Path, depth: number): Filter | undefined {
    if (!isObject(value)) return this.#fail(at, 'must be an object')
    if (depth > deepest) return this.#fail(at, `is nested more than ${deepest} deep`)
    if (Object.keys(value).length === 0) this.#spend(at)
    return conjunction(Object.entries(value).map(([name, inner]) => this.#term(inner, [...at, name], depth)).filter(part => part !== undefined))
  }

  #term (value: unknown, at: Path, depth: number): Filter | undefined {
    // What is too large, or wrong throughout, is not read to its end.
    if (this.#exceeded || this.failures.length >= mostFailures) return undefined
    const name = at.at(-1)!
    if (name === 'all') return conjunction(this.#filters(value, at, depth))
    if (name === 'any') return { any: this.#filters(value, at, depth) }
    if (name !== 'not') return this.#condition(name, value, at)
    const filter = this.#filter(value, at, depth + 1)
    return filter && { not: filter }
  }

  #filters (value: unknown, at: Path, depth: number): Filter[] {
    if (Array.isArray(value) && value.length === 0) this.#spend(at)
    if (Array.isArray(value)) return value.map((part, index) => this.#filter(part, [...at, String(index)], depth + 1)).filter(part => part !== undefined)
    this.#fail(at, 'must be an array of filters')
    return []
  }

  #condition (name: string, value: unknown, at: Path): Filter | undefined {
    const { filterable } = this.#collection.listing
    const key = keyOf(name, filterable)
    if (key === undefined) return this.#fail(at, `is not a known property. ${keysLike(name, filterable)}`)
    this.#spend(at, key.is, value)
    if (this.#exceeded) return undefined
    const found = condition(key, value)
    return 'wanted' in found ? this.#fail(at, `must be ${found.wanted}`) : found
  }

  #spend (at: Path, is?: Condition['is'], value?: unknown): void {
    const allowed = this.#cost.add(is, value)
    if (allowed === undefined || this.#exceeded) return
    this.#exceeded = true
    this.#fail(at, `is too much: a filter can have ${allowed}`)
  }

  #fail (at: Path, message: string): undefined {
    this.failures.push({ pointer: pointer(at), message })
  }
}
