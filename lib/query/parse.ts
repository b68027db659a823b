import { isObject } from '../http/json-value.ts'
import { Problem, problem } from '../http/problems.ts'
import { maxLevels } from './relation-limits.ts'
import { getParts } from './tree.ts'
import type {
  FilterTree,
  Grammar,
  Mistake,
  Name,
  Part,
  Path,
  QueryTree,
  RelatedTree,
  RelationGrammar,
  Step,
  Term
} from './tree.ts'

// Parses queries: query strings, contents of QUERY (RFC 10008), and queries of calls.

/** The parts of a request that its query depends on. */
export interface QueryRequest {
  readonly query: Readonly<Record<string, unknown>>
  /** The query string, as the client sent it, without the question mark. */
  readonly search: string
}

/** In characters. RFC 9110, section 4.1, recommends 8000 for a URI, and some proxies refuse much longer ones. */
const maxQueryLength = 8192

/** How many relations a query names. Each calls rules. */
const maxMentions = 100

/** How deep `all`, `any` and `not` can be nested. */
const maxDepth = 16

/** More than any filter has within its limits, so the rest need not be parsed. */
const maxNodes = 10_000
const tooMany = `is part of a filter with more than ${maxNodes} conditions`

export const emptyTree: QueryTree = Object.freeze({
  parameters: Object.freeze({}),
  names: new Map(),
  content: undefined,
  expansion: undefined,
  mentions: new Map(),
  isTooDeep: false
})

interface ParseOptions {
  /** The content of a QUERY, or the problem why it has none. */
  readonly content?: { readonly value: unknown } | Problem | undefined
  /** What a client can do if its query string is too long. */
  readonly hint?: string
}

/** Parses the query of a request. */
export function parseQuery (
  grammar: Grammar,
  { query, search }: QueryRequest,
  { content, hint = ' Use the method QUERY, whose content can be longer.' }: ParseOptions = {}
): QueryTree | Problem {
  if (search.length > maxQueryLength) {
    return problem('uri-too-long', { detail: `The query is longer than ${maxQueryLength} characters.${hint}` })
  }
  if (content !== undefined) return new Parser(grammar).parse(query, content)
  if (search === '') return emptyTree
  return grammar.hasRelations ? new Parser(grammar).parse(query, undefined) : { ...emptyTree, parameters: query }
}

const noRelations: Grammar = { hasRelations: false, follow: () => undefined }

/** Parses a filter about the properties of items. */
export function parseFilter (value: unknown, at: Path): FilterTree {
  const parser = new Parser(noRelations)
  return parser.parseFilter(parser.root, value, at, 1)
}

/** Parses the query of a call, an object as the content of QUERY has it. */
export function parseQueryObject (grammar: Grammar, value: unknown): QueryTree | Problem {
  return new Parser(grammar).parse(emptyTree.parameters, { value })
}

type MutableMentions = Map<string, MutableMentions>

/** A collection in a query, and the relations of it that the query names. */
export interface Place {
  readonly grammar: Grammar
  readonly mentions: MutableMentions
  readonly level: number
}

export type RelatedPlace = Place & Pick<RelationGrammar, 'isMany'>

/** A value, and whether it is text of a query string. */
export interface Given {
  readonly value: unknown
  readonly isText: boolean
}

/** Parses one query, and collects the relations that it names. */
export class Parser {
  /** The collection that is queried. */
  readonly root: Place
  #mentioned = 0
  #nodes = 0
  #isTooDeep = false

  constructor (grammar: Grammar) {
    this.root = { grammar, mentions: new Map(), level: 0 }
  }

  parse (
    parameters: QueryRequest['query'],
    given: { readonly value: unknown } | Problem | undefined
  ): QueryTree | Problem {
    const { grammar: { hasRelations, parseExpansion }, mentions } = this.root
    const names = hasRelations ? this.#parseNames(parameters) : emptyTree.names
    const content = given === undefined || given instanceof Problem ? given : this.#parseContent(given.value)
    const expansion = parseExpansion?.(this, parameters, getParts(content))
    if (this.#mentioned > maxMentions) {
      return problem('invalid-query', { detail: `The query refers to more than ${maxMentions} relations.` })
    }
    return { parameters, names, content, expansion, mentions, isTooDeep: this.#isTooDeep }
  }

  /** Returns the collection that a relation leads to; undefined if there is none, or it would be one too many. */
  follow ({ grammar, mentions, level }: Place, relation: string): RelatedPlace | undefined {
    const found = grammar.follow(relation)
    if (found === undefined) return undefined
    if (level === maxLevels) {
      this.#isTooDeep = true
      return undefined
    }
    let inner = mentions.get(relation)
    if (inner === undefined) {
      mentions.set(relation, inner = new Map())
      this.#mentioned++
    }
    return { grammar: found.target, mentions: inner, level: level + 1, isMany: found.isMany }
  }

  // Names

  #parseNames (parameters: QueryRequest['query']): ReadonlyMap<string, Name> {
    const names = new Map<string, Name>()
    for (const [text, value] of Object.entries(parameters)) {
      if (isExpand(text)) continue
      if (text === 'sort') this.mentionSort(this.root, { value, isText: true })
      const name = this.parseName(this.root, text)
      if (name.steps.length > 0) names.set(text, name)
    }
    return names
  }

  parseName (start: Place, text: string): Name {
    const steps: Step[] = []
    let place = start
    let last = text
    for (;;) {
      const dot = last.indexOf('.')
      const target = dot < 0 ? undefined : this.follow(place, last.slice(0, dot))
      if (target === undefined) return { text, steps, last }
      const relation = last.slice(0, dot)
      const rest = last.slice(dot + 1)
      if (target.isMany) {
        if (/^count(?:\.|$)/.test(rest)) return { text, steps: [...steps, { relation, has: 'count' }], last: rest }
        const has = /^(?:some|none)(?=\.)/.exec(rest)?.[0] as 'some' | 'none' | undefined
        if (has === undefined) return { text, steps, last }
        steps.push({ relation, has })
        last = rest.slice(has.length + 1)
      } else {
        steps.push({ relation, has: 'some' })
        last = rest
      }
      place = target
    }
  }

  /** The names of an order lead to related items as well. */
  mentionSort (place: Place, { value, isText }: Given): void {
    const names = isText && typeof value === 'string' ? value.split(',') : [value].flat()
    for (const name of names) if (typeof name === 'string') this.parseName(place, name.replace(/^-/, ''))
  }

  // The content of QUERY

  #parseContent (content: unknown): readonly Part[] | Mistake {
    if (!isObject(content)) return { kind: 'mistake', at: [], message: 'must be an object' }
    return Object.entries(content).map(([name, value]): Part => {
      if (name === 'filter') return { name, value, filter: this.parseFilter(this.root, value, [name], 1) }
      if (name === 'sort') this.mentionSort(this.root, { value, isText: false })
      return { name, value }
    })
  }

  parseFilter (place: Place, value: unknown, at: Path, depth: number): FilterTree {
    if (!isObject(value)) return { kind: 'mistake', at, message: 'must be an object' }
    if (this.#nodes++ >= maxNodes) return { kind: 'mistake', at, message: tooMany }
    if (depth > maxDepth) return { kind: 'mistake', at, message: `is nested deeper than ${maxDepth} levels` }
    const parts = Object.entries(value).map(([name, inner]) => {
      return this.#parseCondition(place, inner, [...at, name], depth)
    })
    return { kind: 'object', at, parts }
  }

  #parseCondition (place: Place, value: unknown, at: Path, depth: number): FilterTree {
    if (this.#nodes++ >= maxNodes) return { kind: 'mistake', at, message: tooMany }
    const name = at.at(-1)!
    if (name === 'all' || name === 'any') {
      if (!Array.isArray(value)) return { kind: 'mistake', at, message: 'must be an array of filters' }
      const parts = value.map((part: unknown, index) => {
        return this.parseFilter(place, part, [...at, String(index)], depth + 1)
      })
      return { kind: name, at, parts }
    }
    if (name === 'not') return { kind: 'not', filter: this.parseFilter(place, value, at, depth + 1) }
    const target = isObject(value) ? this.follow(place, name) : undefined
    return target === undefined
      ? this.parseTerm(place, name, { value, at })
      : this.#parseRelated(place, target, { value: value as Record<string, unknown>, at, depth })
  }

  parseTerm (place: Place, text: string, { value, at }: Pick<Term, 'value' | 'at'>): Term {
    const name = place.grammar.hasRelations ? this.parseName(place, text) : { text, steps: [], last: text }
    return { kind: 'term', name, value, at }
  }

  /** An object in the place of a value is about the related item; with `some` and `none`, about several. */
  #parseRelated (
    place: Place,
    target: RelatedPlace,
    { value, at, depth }: { readonly value: Record<string, unknown>, readonly at: Path, readonly depth: number }
  ): RelatedTree {
    const relation = at.at(-1)!
    if (!target.isMany) {
      const filter = this.parseFilter(target, value, at, depth + 1)
      return { kind: 'related', relation, at, parts: [{ kind: 'quantified', has: 'some', filter }] }
    }
    const parts = Object.entries(value).map(([name, inner]): RelatedTree['parts'][number] => {
      const inside = [...at, name]
      if (name !== 'some' && name !== 'none') {
        return this.parseTerm(place, `${relation}.${name}`, { value: inner, at: inside })
      }
      return { kind: 'quantified', has: name, filter: this.parseFilter(target, inner, inside, depth + 1) }
    })
    return { kind: 'related', relation, at, parts }
  }
}

/** Whether a parameter is about what is included: `expand`, or `expand.comments.limit`. */
export function isExpand (name: string): boolean {
  return name === 'expand' || name.startsWith('expand.')
}

/** Whether the value of a parameter consists of names, such as those of relations. */
export function hasNamesAsValue (parameter: string): boolean {
  return /(?:^|\.)(?:expand|sort)$/.test(parameter)
}
