import type { Condition, Context, Filter, Query, Scalar } from '../contract.ts'
import type { Dialect } from './dialect.ts'
import type { Layout } from './layout.ts'
import { operand, type Operand } from './operand.ts'
import type { Parameters } from './parameters.ts'

type Search = NonNullable<Query['search']>

const always = '1 = 1'
const never = '1 = 0'

/** One statement's conditions. Two-valued, as the contract has it: SQL's third value never decides. */
export class Conditions {
  readonly #layout: Layout
  readonly #dialect: Dialect
  readonly #parameters: Parameters

  constructor (layout: Layout, parameters: Parameters) {
    this.#layout = layout
    this.#dialect = layout.dialect
    this.#parameters = parameters
  }

  /** The row scope, to follow another condition. */
  scope ({ scope }: Context): string {
    return scope === undefined ? '' : ` AND ${this.filter(scope)}`
  }

  /** Negation is carried down to the single conditions: only there is known what NULL makes of it. */
  filter (by: Filter, holds = true): string {
    if ('not' in by) return this.filter(by.not, !holds)
    if ('all' in by) return this.#join(by.all, holds, holds)
    if ('any' in by) return this.#join(by.any, holds, !holds)
    return this.#condition(by, holds)
  }

  #join (parts: readonly Filter[], holds: boolean, all: boolean): string {
    if (parts.length === 0) return all ? always : never
    return balanced(parts.map((part) => this.filter(part, holds)), all ? ' AND ' : ' OR ')
  }

  #condition (by: Condition, holds: boolean): string {
    switch (by.is) {
      case 'eq': return this.#equal(by.property, [by.value], holds)
      case 'ne': return this.#equal(by.property, [by.value], !holds)
      case 'in': return this.#equal(by.property, by.value, holds)
      case 'nin': return this.#equal(by.property, by.value, !holds)
      case 'null': return `${this.#operand(by.property).presence} IS ${by.value === holds ? '' : 'NOT '}NULL`
      case 'like': return this.#like(by, holds)
      default: return this.#compare(by.property, { sign: holds ? signs[by.is] : opposites[by.is], value: by.value, holds })
    }
  }

  #equal (property: string, values: readonly Scalar[], holds: boolean): string {
    const types = new Set(values.map(typeOf))
    // A property of several types is compared type by type.
    const parts = [...types].map((type) => this.#equalOne(property, values.filter((value) => typeOf(value) === type), holds))
    if (parts.length === 0) return holds ? never : always
    return parts.length === 1 ? parts.join() : `(${parts.join(holds ? ' OR ' : ' AND ')})`
  }

  #equalOne (property: string, values: readonly Scalar[], holds: boolean): string {
    const by = this.#operand(property, values[0])
    const fit = values.filter((value) => by.codec.fits(value) && !isFraction(by, value))
    const [last] = fit.slice(-1)
    if (last === undefined) return holds ? never : always
    // A power of two, so that lists of any length need few statements.
    while (fit.length & (fit.length - 1)) fit.push(last)
    const test = (expression: string, is: string) => `${expression} ${is} (${fit.map((value) => this.#bind(by, value)).join(', ')})`
    if (!holds) return this.#orNull(by, test(by.ordered, 'NOT IN'))
    if (fit.length === 1) return by.equatable.map((expression) => `${expression} = ${this.#bind(by, last)}`).join(' AND ')
    return by.equatable.map((expression) => test(expression, 'IN')).join(' AND ')
  }

  #compare (property: string, { sign, value, holds }: { sign: string, value: Scalar, holds: boolean }): string {
    const by = this.#operand(property, value)
    if (!by.codec.fits(value)) return holds ? never : always
    const test = `${by.ordered} ${sign} ${this.#bind(by, value)}`
    return holds ? test : this.#orNull(by, test)
  }

  #like ({ property, value }: { property: string, value: string }, holds: boolean): string {
    const by = this.#operand(property, value)
    if (by.text === undefined || value.includes('\0')) return holds ? never : always
    const test = this.#dialect.like(by.text, runs(value), (part) => this.#parameters.bind(part))
    return holds ? test : this.#orNull(by, `NOT (${test})`)
  }

  /** The condition of a search. Where `searchIsExact` does not hold, the rows must be checked again. */
  search ({ words, properties }: Search): string {
    const { lowerCase, contains, once, findable } = this.#dialect.search
    const texts = this.searchTexts(properties)
    if (words.some((word) => word.includes('\0')) || (words.length > 0 && texts.length === 0)) return never
    const parts = words.map(findable).filter((part) => part !== '')
    if (parts.length === 0) return always
    const sigma = parts.some((part) => part.includes('σ'))
    const lower = texts.map((text) => sigma ? `REPLACE(${lowerCase(text)}, 'ς', 'σ')` : lowerCase(text))
    const condition = (expressions: readonly string[]) => parts.map((part) => {
      return `(${expressions.map((expression) => contains(expression, this.#parameters.bind(part))).join(' OR ')})`
    }).join(' AND ')
    return once === undefined || parts.length === 1 ? condition(lower) : once(lower, condition)
  }

  /** The texts of a row in which a search looks. */
  searchTexts (properties: Search['properties']): string[] {
    return properties.map((property) => this.#operand(property).text).filter((expression) => expression !== undefined)
  }

  /** Whether the database finds all of each word. */
  searchIsExact ({ words }: Search): boolean {
    return words.every((word) => this.#dialect.search.findable(word) === word)
  }

  #operand (property: string, value?: Scalar): Operand {
    return operand(this.#layout, property, value)
  }

  #bind (by: Operand, value: Scalar): string {
    const placeholder = this.#parameters.bind(by.codec.write(value))
    return isFraction(by, value) ? this.#dialect.fraction(placeholder) : placeholder
  }

  #orNull ({ nullable, ordered }: Operand, test: string): string {
    return nullable ? `(${test} OR ${ordered} IS NULL)` : test
  }
}

/** `a AND b AND c` is a tree as deep as it is long, and SQLite takes none that is deeper than 1000. */
function balanced (parts: readonly string[], operator: string): string {
  if (parts.length <= 100) return `(${parts.join(operator)})`
  const middle = parts.length >> 1
  return `(${balanced(parts.slice(0, middle), operator)}${operator}${balanced(parts.slice(middle), operator)})`
}

const signs = { lt: '<', lte: '<=', gt: '>', gte: '>=' }
const opposites = { lt: '>=', lte: '>', gt: '<=', gte: '<' }

const typeOf = (value: Scalar) => typeof value

function isFraction ({ kind }: Operand, value: Scalar): boolean {
  return kind === 'integer' && !Number.isSafeInteger(value)
}

/** The texts between the stars; a backslash takes the next character as it is. */
function runs (pattern: string): string[] {
  const found: string[] = []
  let run = ''
  for (const [token] of pattern.matchAll(/\\?[^]/gu)) {
    if (token === '*') {
      found.push(run)
      run = ''
    } else {
      run += token.length > 1 && token.startsWith('\\') ? token.slice(1) : token
    }
  }
  return [...found, run]
}
