import { toPointer } from '../http/json-pointer.ts'
import { isObject } from '../http/json-value.ts'
import { Problem, problem } from '../http/problems.ts'
import { joinNames } from './join-names.ts'
import { isExpand } from './parse.ts'
import type { Given, Parser, Place, QueryRequest, RelatedPlace } from './parse.ts'
import { maxPaths } from './relation-limits.ts'
import type { ExpandedTree, ExpandOption, Expansion, Grammar, ParseExpansion, Part, Path } from './tree.ts'

// What a query requests to include: `expand`, and the parameters that continue its name.

export const parseExpansion: ParseExpansion = (parser, parameters, parts) => {
  return new ExpansionParser(parser).parse(parameters, parts)
}

interface MutableExpanded extends ExpandedTree {
  readonly options: Map<string, ExpandOption>
  readonly inner: Map<string, MutableExpanded>
}

class ExpansionParser {
  readonly #parser: Parser

  constructor (parser: Parser) {
    this.#parser = parser
  }

  /** A query string takes precedence over the content of a QUERY. */
  parse (parameters: QueryRequest['query'], parts: readonly Part[]): Expansion | undefined {
    const given = new Map<string, Given>()
    const defaults: string[] = []
    for (const { name, value } of parts) if (isExpand(name)) given.set(name, { value, isText: false })
    for (const [name, value] of Object.entries(parameters)) {
      if (isDefaultOption(this.#parser.root.grammar, name, value)) defaults.push(name)
      else if (isExpand(name)) given.set(name, { value, isText: true })
    }
    if (given.size === 0 && defaults.length === 0) return undefined
    const root = createExpanded()
    const isContent = given.get('expand')?.isText === false
    const expansion = { tree: root.inner, isContent, defaults }
    try {
      this.#expand(root, given)
      return { ...expansion, problem: undefined }
    } catch (thrown) {
      if (thrown instanceof Problem) return { ...expansion, problem: thrown }
      throw thrown
    }
  }

  #expand (root: MutableExpanded, given: ReadonlyMap<string, Given>): void {
    const { expand = { value: [], isText: false }, ...options } = Object.fromEntries(given)
    if (isObject(expand.value)) this.#expandObject(root, this.#parser.root, { value: expand.value, at: ['expand'] })
    else this.#expandPaths(root, this.#parser.root, { ...expand, spot: toSpot(expand.isText, ['expand']) })
    for (const [name, option] of Object.entries(options)) {
      const found = this.#findOption(root, name.split('.').slice(1))
      if (found === undefined) refuseUnknownOption(name, root.inner.keys())
      else found.expanded.options.set(found.option, this.#parseOption(found.place, found.option, { ...option, at: [] }))
    }
  }

  /**
   * Finds what `comments.author.country` is about. One item has no conditions, so this is a condition of `comments`,
   * whether `author` is included as well or not.
   */
  #findOption (root: MutableExpanded, path: Path): FoundOption | undefined {
    let found: FoundOption | undefined
    let expanded = root
    let place: RelatedPlace | Place | undefined = this.#parser.root
    for (const [index, name] of path.entries()) {
      const inner = expanded.inner.get(name)
      if (inner === undefined) break
      const related: RelatedPlace | undefined = place && this.#parser.follow(place, name)
      const option = path.slice(index + 1).join('.')
      if (found === undefined || related === undefined || isOption(related, option)) {
        found = { expanded: inner, place: related, option }
      }
      expanded = inner
      place = related
    }
    return found
  }

  /** `place` is undefined for an unknown relation. */
  #parseOption (
    place: Place | undefined,
    option: string,
    { value, isText, at }: Given & { readonly at: Path }
  ): ExpandOption {
    if (place === undefined) {
      return { value, isText, condition: { kind: 'term', name: { text: option, steps: [], last: option }, value, at } }
    }
    if (option === 'sort') this.#parser.mentionSort(place, { value, isText })
    const condition = option === 'filter' && !isText && isObject(value)
      ? this.#parser.parseFilter(place, value, at, 1)
      : this.#parser.parseTerm(place, option, { value, at })
    return { value, isText, condition }
  }

  /** `author,comments.author`: a path includes what leads to it. */
  #expandPaths (
    root: MutableExpanded,
    start: Place | undefined,
    { value, isText, spot }: Given & { readonly spot: Spot }
  ): void {
    const paths: unknown = isText && typeof value === 'string' ? value.split(',') : value
    const isList = Array.isArray(paths) && paths.length <= maxPaths && paths.every((path) => typeof path === 'string')
    if (!isList) {
      refuse(spot, spot.pointer === undefined
        ? `up to ${maxPaths} relations, separated by commas`
        : `an array of up to ${maxPaths} relations, or an object with options for each`)
    }
    for (const path of paths as readonly string[]) {
      let expanded = root
      let place = start
      for (const name of path.split('.')) {
        expanded = addInner(expanded, name)
        place = place && this.#parser.follow(place, name)
      }
    }
  }

  /** `{ comments: { limit: 5, expand: { author: true } } }` */
  #expandObject (
    outer: MutableExpanded,
    place: Place | undefined,
    { value: given, at }: { readonly value: Record<string, unknown>, readonly at: Path }
  ): void {
    for (const [name, value] of Object.entries(given)) {
      const expanded = addInner(outer, name)
      const target = place && this.#parser.follow(place, name)
      if (value === true) continue
      const path = [...at, name]
      if (!isObject(value)) return refuse(toSpot(false, path), 'true, or an object with options')
      const { expand, ...options } = value
      for (const [option, set] of Object.entries(options)) {
        const parsed = this.#parseOption(target, option, { value: set, isText: false, at: [...path, option] })
        expanded.options.set(option, parsed)
      }
      const inside = [...path, 'expand']
      if (isObject(expand)) this.#expandObject(expanded, target, { value: expand, at: inside })
      else if (expand !== undefined) {
        this.#expandPaths(expanded, target, { value: expand, isText: false, spot: toSpot(false, inside) })
      }
    }
  }
}

interface FoundOption {
  readonly expanded: MutableExpanded
  readonly place: Place | undefined
  readonly option: string
}

function createExpanded (): MutableExpanded {
  return { options: new Map(), inner: new Map() }
}

function addInner ({ inner }: MutableExpanded, name: string): MutableExpanded {
  const known = inner.get(name) ?? createExpanded()
  inner.set(name, known)
  return known
}

/**
 * Whether a parameter is an option of an included list with its default. Tools such as Swagger UI send the defaults of
 * the document, also for relations that are not included: that means the same as leaving them out.
 */
function isDefaultOption (grammar: Grammar, parameter: string, text: unknown): boolean {
  if (!parameter.startsWith('expand.')) return false
  const [name = '', option, ...others] = parameter.slice('expand.'.length).split('.')
  const relation = grammar.follow(name)
  if (relation?.isMany !== true || others.length > 0) return false
  return option === 'limit' ? text === String(relation.limit) : option === 'count' && text === 'false'
}

/** What can be requested of one included item. */
export const oneOptions: readonly string[] = ['fields']

/** `comments.some.text` and `comments.count.gte` are conditions about the items around `comments`. */
function isOption ({ isMany }: RelatedPlace, option: string): boolean {
  return isMany ? !/^(?:some|none|count)\./.test(option) : oneOptions.includes(option)
}

/** Where a mistake is in what is included. */
export interface Spot {
  /** The parameter of the query string. */
  readonly parameter: string
  /** The JSON Pointer, if the content of a QUERY or a call has the mistake. */
  readonly pointer: string | undefined
}

/** The spot of `expand`, or of what it contains. */
function toSpot (isText: boolean, at: Path): Spot {
  return { parameter: 'expand', pointer: isText ? undefined : toPointer(at) }
}

/** Refuses what is requested to be included. */
export function refuse ({ parameter, pointer }: Spot, expected: string): never {
  throw pointer === undefined
    ? problem('invalid-query', { detail: `${parameter} must be ${expected}.`, properties: { parameter } })
    : problem('validation-failed', {
      detail: 'The query is invalid.',
      properties: { errors: [{ pointer, message: `must be ${expected}` }] }
    })
}

/** Refuses an option about a relation that is not included. */
export function refuseUnknownOption (parameter: string, included: Iterable<string>): never {
  const names = joinNames(included)
  return refuse({ parameter, pointer: undefined }, names === ''
    ? 'about a relation that expand names: add expand to the query'
    : `about a relation that expand names: ${names}`)
}
