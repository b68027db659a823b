import type { Condition, Context, Filter, Query, RelatedCondition, RelatedRows, Scalar } from '../contract.ts'
import { splitPattern, toSmallPattern, type SmallPattern } from '../like-pattern.ts'
import { aliasLayout } from './alias-layout.ts'
import type { SqlDialect } from './dialect.ts'
import type { Layout } from './layout.ts'
import { getArrayOperand, getOperand, type Operand } from './operand.ts'
import { joinTests, type Parameters } from './parameters.ts'
import { buildRelation, findLayout, getRelationKeys } from './related.ts'

type Search = NonNullable<Query['search']>

/** So many related rows are read again for each row, which takes less time than reading the keys of all. */
const maxRepeated = 100

const always = '1 = 1'
const never = '1 = 0'

/**
 * Builds the conditions of one statement. They are two-valued, as the contract requires: the third value of SQL never
 * decides. `holds` is false for a negated filter.
 */
export class ConditionBuilder {
  readonly #layout: Layout
  readonly #dialect: SqlDialect
  readonly #parameters: Parameters
  /** How many related conditions this one is nested in. */
  readonly #depth: number
  /** Whether the rows belong to those of an outer condition, of which many can have the same. */
  readonly #isShared: boolean

  constructor (layout: Layout, parameters: Parameters, { depth = 0, isShared = false } = {}) {
    this.#layout = layout
    this.#dialect = layout.dialect
    this.#parameters = parameters
    this.#depth = depth
    this.#isShared = isShared
  }

  /** Builds the scope of the caller, to append to another condition. */
  buildScope ({ scope }: Context): string {
    return scope === undefined ? '' : ` AND ${this.buildFilter(scope)}`
  }

  /** Passes negation down to the single conditions: how NULL is handled depends on them. */
  buildFilter (filter: Filter, holds = true): string {
    if ('not' in filter) return this.buildFilter(filter.not, !holds)
    if ('all' in filter) return this.#joinFilters(filter.all, holds, holds)
    if ('any' in filter) return this.#joinFilters(filter.any, holds, !holds)
    if ('related' in filter) return this.#buildRelated(filter, holds)
    return this.#buildCondition(filter, holds)
  }

  #joinFilters (parts: readonly Filter[], holds: boolean, all: boolean): string {
    if (parts.length === 0) return all ? always : never
    return joinBalanced(parts.map((part) => this.buildFilter(part, holds)), all ? ' AND ' : ' OR ')
  }

  #buildRelated ({ related, count }: RelatedCondition, holds: boolean): string {
    const { is, value } = count ?? { is: 'gte', value: 1 }
    switch (is) {
      case 'eq': return this.#buildCount(related, value, holds)
      case 'ne': return this.#buildCount(related, value, !holds)
      case 'gte': return this.#buildAtLeast(related, value, holds)
      case 'gt': return this.#buildAtLeast(related, value + 1, holds)
      case 'lt': return this.#buildAtLeast(related, value, !holds)
      case 'lte': return this.#buildAtLeast(related, value + 1, !holds)
    }
  }

  #buildCount (related: RelatedRows, value: number, holds: boolean): string {
    if (value === 0) return this.#buildAtLeast(related, 1, !holds)
    if (this.#isRepeated(related)) return this.#buildHasKey(related, { sign: '=', value }, holds)
    const found = this.#buildRelatedSelect(related, 'count(*)')
    return `(${found}) ${holds ? '=' : '<>'} ${this.#parameters.bind(value)}`
  }

  /** Reads no more rows than it needs. */
  #buildAtLeast (related: RelatedRows, value: number, holds: boolean): string {
    if (value <= 0) return holds ? always : never
    if (this.#isRepeated(related) && (value > maxRepeated || related.filter !== undefined)) {
      return this.#buildHasKey(related, { sign: '>=', value }, holds)
    }
    const found = this.#buildRelatedSelect(related, '1')
    if (value === 1) return `${holds ? '' : 'NOT '}EXISTS (${found})`
    const offset = this.#parameters.bind(this.#dialect.limit(value - 1))
    return `(${found} LIMIT 1 OFFSET ${offset}) IS ${holds ? 'NOT ' : ''}NULL`
  }

  #buildRelatedSelect (related: RelatedRows, select: string): string {
    const { found, alias, depth } = this.#getFound(related)
    const condition = buildRelation(found, this.#layout, related)
    const isShared = this.#isSharedBy(related)
    const filter = related.filter === undefined
      ? ''
      : ` AND ${new ConditionBuilder(found, this.#parameters, { depth, isShared }).buildFilter(related.filter)}`
    return `SELECT ${select} FROM ${found.table} AS ${alias} WHERE ${condition}${filter}`
  }

  #getFound ({ storage }: RelatedRows) {
    const depth = this.#depth + 1
    const alias = `related_${depth}`
    return { found: aliasLayout(findLayout(storage, this.#layout), alias), alias, depth }
  }

  /** Whether several rows of the statement can have the same related rows. */
  #isSharedBy ({ property }: RelatedRows): boolean {
    return this.#isShared || property !== this.#layout.id.property
  }

  /**
   * Whether the same related rows would be read again and again: those of the author of each comment, as
   * `author.comments` of comments. That takes a time that is quadratic.
   */
  #isRepeated (related: RelatedRows): boolean {
    const isToMany = related.equals !== findLayout(related.storage, this.#layout).id.property
    return this.#dialect.isExistsRepeated && isToMany && this.#isSharedBy(related)
  }

  /** Builds a condition for which all keys of related rows are read once. */
  #buildHasKey (
    related: RelatedRows,
    { sign, value }: { readonly sign: '=' | '>=', readonly value: number },
    holds: boolean
  ): string {
    const { found, alias, depth } = this.#getFound(related)
    const keys = getRelationKeys(found, this.#layout, related)
    if (keys === undefined) return holds ? never : always
    const filter = related.filter === undefined
      ? ''
      : ` AND ${new ConditionBuilder(found, this.#parameters, { depth }).buildFilter(related.filter)}`
    const select = `SELECT ${keys.found} FROM ${found.table} AS ${alias} WHERE ${keys.found} IS NOT NULL${filter}`
    const isOne = sign === '>=' && value === 1
    const groups = isOne ? '' : ` GROUP BY ${keys.found} HAVING count(*) ${sign} ${this.#parameters.bind(value)}`
    // NULL is never the result.
    const test = `${keys.given} IS NOT NULL AND ${keys.given} IN (${select}${groups})`
    return holds ? `(${test})` : `NOT (${test})`
  }

  #buildCondition (condition: Condition, holds: boolean): string {
    const { property } = condition
    switch (condition.is) {
      case 'eq': return this.#buildEqual(property, [condition.value], holds)
      case 'ne': return this.#buildEqual(property, [condition.value], !holds)
      case 'in': return this.#buildEqual(property, condition.value, holds)
      case 'nin': return this.#buildEqual(property, condition.value, !holds)
      case 'null': return this.#buildNull(property, condition.value === holds)
      case 'like':
      case 'ilike': return this.#buildLike(condition, holds)
      case 'contains': return this.#buildHasItem(property, [condition.value], holds)
      case 'overlaps': return this.#buildHasItem(property, condition.value, holds)
      default: {
        const sign = holds ? signs[condition.is] : opposites[condition.is]
        return this.#buildComparison(property, { sign, value: condition.value, holds })
      }
    }
  }

  #buildHasItem (property: string, values: readonly Scalar[], holds: boolean): string {
    const tests = [...new Set(values.map(getType))].map((type) => {
      const ofType = values.filter((value) => getType(value) === type)
      const operand = getArrayOperand(this.#layout, property, ofType[0])
      const bindable = fillUp(ofType.filter((value) => operand?.codec.canBind(value)))
      if (operand === undefined || bindable.length === 0) return never
      const { array, type: itemType, codec } = operand
      const bindAll = () => bindable.map((value) => this.#parameters.bind(codec.write(value))).join(', ')
      return this.#dialect.json.hasItem(array, { type: itemType, bindAll })
    })
    if (tests.length === 0) return holds ? never : always
    const test = `(${tests.join(' OR ')})`
    return holds ? test : `NOT ${test}`
  }

  #buildNull (property: string, isNull: boolean): string {
    return `${this.#getOperand(property).presence} IS ${isNull ? '' : 'NOT '}NULL`
  }

  #buildEqual (property: string, values: readonly Scalar[], holds: boolean): string {
    const types = new Set(values.map(getType))
    // A property with several types is compared type by type.
    const parts = [...types].map((type) => {
      return this.#buildEqualOfType(property, values.filter((value) => getType(value) === type), holds)
    })
    if (parts.length === 0) return holds ? never : always
    return parts.length === 1 ? parts.join() : `(${parts.join(holds ? ' OR ' : ' AND ')})`
  }

  #buildEqualOfType (property: string, values: readonly Scalar[], holds: boolean): string {
    const operand = this.#getOperand(property, values[0])
    const bindable = values.filter((value) => operand.codec.canBind(value) && !isFraction(operand, value))
    const [last] = bindable.slice(-1)
    if (last === undefined) return holds ? never : always
    fillUp(bindable)
    const bindAll = () => bindable.map((value) => this.#bind(operand, value)).join(', ')
    if (!holds) return this.#orNull(operand, `${operand.equatable.at(-1)} NOT IN (${bindAll()})`)
    return joinTests(this.#dialect, operand.equatable, (expression) => (
      bindable.length === 1 ? `${expression} = ${this.#bind(operand, last)}` : `${expression} IN (${bindAll()})`
    ))
  }

  #buildComparison (
    property: string,
    { sign, value, holds }: { sign: string, value: Scalar, holds: boolean }
  ): string {
    const operand = this.#getOperand(property, value)
    if (!operand.codec.canBind(value)) return holds ? never : always
    const test = `${operand.ordered} ${sign} ${this.#bind(operand, value)}`
    return holds ? test : this.#orNull(operand, test)
  }

  #buildLike ({ property, is, value }: Condition & { readonly value: string }, holds: boolean): string {
    const operand = this.#getOperand(property, value)
    if (operand.text === undefined || value.includes('\0')) return holds ? never : always
    const { pattern, letters } = is === 'ilike' ? toSmallPattern(value) : { pattern: value }
    const text = letters === undefined ? operand.text : this.#buildSmall(operand.text, letters)
    const test = this.#dialect.like(text, splitPattern(pattern), (part) => this.#parameters.bind(part))
    return holds ? test : this.#orNull(operand, `NOT (${test})`)
  }

  /** A dialect can use a text more than once, so the letters are literals. None is a quote or a backslash. */
  #buildSmall (text: string, letters: SmallPattern['letters']): string {
    return letters.reduce(
      (expression, [letter, small]) => `REPLACE(${expression}, '${letter}', '${small}')`,
      this.#dialect.lowerAscii(text)
    )
  }

  /** Builds the condition of a search. Unless `isExactSearch`, the rows must be checked again. */
  buildSearch ({ words, properties }: Search): string {
    const { lowerCase, contains, once, findable } = this.#dialect.search
    const texts = this.getSearchTexts(properties)
    if (words.some((word) => word.includes('\0')) || (words.length > 0 && texts.length === 0)) return never
    const parts = words.map(findable).filter((part) => part !== '')
    if (parts.length === 0) return always
    const hasSigma = parts.some((part) => part.includes('σ'))
    const lower = texts.map((text) => hasSigma ? `REPLACE(${lowerCase(text)}, 'ς', 'σ')` : lowerCase(text))
    const buildCondition = (expressions: readonly string[]) => parts
      .map((part) => expressions.map((expression) => contains(expression, this.#parameters.bind(part))))
      .map((tests) => `(${tests.join(' OR ')})`)
      .join(' AND ')
    return once === undefined || parts.length === 1 ? buildCondition(lower) : once(lower, buildCondition)
  }

  /** The expressions of the texts of a row that a search looks in. */
  getSearchTexts (properties: Search['properties']): string[] {
    return properties
      .map((property) => this.#getOperand(property).text)
      .filter((expression) => expression !== undefined)
  }

  #getOperand (property: string, value?: Scalar): Operand {
    return getOperand(this.#layout, property, value)
  }

  #bind (operand: Operand, value: Scalar): string {
    const placeholder = this.#parameters.bind(operand.codec.write(value))
    return isFraction(operand, value) ? this.#dialect.castFraction(placeholder) : placeholder
  }

  #orNull ({ nullable, ordered }: Operand, test: string): string {
    return nullable ? `(${test} OR ${ordered} IS NULL)` : test
  }
}

/** Whether the database can find every word as a whole. */
export function isExactSearch ({ search: { findable } }: SqlDialect, { words }: Search): boolean {
  return words.every((word) => findable(word) === word)
}

/** Fills up to a power of two, so that lists of any length need few statements. */
function fillUp (values: Scalar[]): Scalar[] {
  while (values.length & (values.length - 1)) values.push(values.at(-1)!)
  return values
}

/** `a AND b AND c` is a tree as deep as it is long, and SQLite rejects one that is deeper than 1000. */
function joinBalanced (parts: readonly string[], operator: string): string {
  if (parts.length <= 100) return `(${parts.join(operator)})`
  const middle = parts.length >> 1
  const left = joinBalanced(parts.slice(0, middle), operator)
  const right = joinBalanced(parts.slice(middle), operator)
  return `(${left}${operator}${right})`
}

const signs = { lt: '<', lte: '<=', gt: '>', gte: '>=' }
const opposites = { lt: '>=', lte: '>', gt: '<=', gte: '<' }

const getType = (value: Scalar) => typeof value

function isFraction ({ kind }: Operand, value: Scalar): boolean {
  return kind === 'integer' && !Number.isSafeInteger(value)
}
