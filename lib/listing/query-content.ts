import type { Collection } from '../definition.ts'
import { pointer } from '../http/json-pointer.ts'
import { isObject } from '../http/json-value.ts'
import { problem } from '../http/problems.ts'
import type { Filter } from '../storage/contract.ts'
import { condition, keyOf } from './conditions.ts'
import { parameterOf } from './parameters.ts'
import type { Question } from './question.ts'

// RFC 10008: the content of a QUERY asks what a query string can, and more: `all`, `any` and `not` at any depth, and long lists of values.

const deepest = 16
const mostConditions = 500

/** Something that is not understood, and where. */
interface Failure {
  readonly pointer: string
  readonly message: string
}

type Path = readonly string[]

/** The question; 422 names every member that is not understood. */
export function askedInContent (collection: Collection, content: unknown): Question {
  const reader = new Reader(collection)
  const question = reader.question(content)
  if (reader.failures.length > 0) throw problem('invalid', { detail: 'The query is not understood.', members: { errors: reader.failures } })
  return question
}

class Reader {
  readonly failures: Failure[] = []
  readonly #collection: Collection
  #conditions = 0

  constructor (collection: Collection) {
    this.#collection = collection
  }

  question (content: unknown): Question {
    const question: Question = {}
    if (!isObject(content)) this.#fail([], 'must be an object')
    else for (const [name, value] of Object.entries(content)) Object.assign(question, this.#part(name, value))
    return question
  }

  #part (name: string, value: unknown): Question | undefined {
    if (name === 'filter') {
      const filter = this.#filter(value, [name])
      return filter && { filter }
    }
    const part = parameterOf(this.#collection, name)?.read(this.#collection, value)
    if (part === undefined) return this.#fail([name], 'is not known here')
    return typeof part === 'string' ? this.#fail([name], `must be ${part}`) : part
  }

  /** Several conditions in one object all have to hold. */
  #filter (value: unknown, at: Path): Filter | undefined {
    if (!isObject(value)) return this.#fail(at, 'must be an object')
    if (at.length > deepest) return this.#fail(at, 'is nested too deeply')
    const parts = Object.entries(value).map(([name, inner]) => this.#term(name, inner, [...at, name])).filter(part => part !== undefined)
    return parts.length === 1 ? parts[0] : { all: parts }
  }

  #term (name: string, value: unknown, at: Path): Filter | undefined {
    if (name === 'all') return { all: this.#filters(value, at) }
    if (name === 'any') return { any: this.#filters(value, at) }
    if (name !== 'not') return this.#condition(name, value, at)
    const filter = this.#filter(value, at)
    return filter && { not: filter }
  }

  #filters (value: unknown, at: Path): Filter[] {
    if (Array.isArray(value)) return value.map((part, index) => this.#filter(part, [...at, String(index)])).filter(part => part !== undefined)
    this.#fail(at, 'must be an array of filters')
    return []
  }

  #condition (name: string, value: unknown, at: Path): Filter | undefined {
    const key = keyOf(name, this.#collection.listing.filterable)
    if (key === undefined) return this.#fail(at, 'is no member that a list can be filtered by, with an operator that fits its type')
    if (++this.#conditions > mostConditions) return this.#fail(at, `is more than ${mostConditions} conditions`)
    const found = condition(key, value)
    return 'wanted' in found ? this.#fail(at, `must be ${found.wanted}`) : found
  }

  #fail (at: Path, message: string): undefined {
    this.failures.push({ pointer: pointer(at), message })
  }
}
