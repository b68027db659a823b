import type { Problem } from '../http/problems.ts'
import type { Parser } from './parse.ts'

// A query as it was written: names, values and the structure between them. It knows no caller: whether a name is known,
// visible and readable is decided when the query is resolved.

/** The relations of a collection. They decide what a name with dots means. */
export interface Grammar {
  readonly hasRelations: boolean
  /** Parses what a query requests to include. */
  readonly parseExpansion?: ParseExpansion | undefined
  /** Returns the relation with a name; undefined if there is none. */
  follow (relation: string): RelationGrammar | undefined
}

/** Parses `expand` and the parameters that continue its name. `parts` are those of the content. */
export type ParseExpansion = (
  parser: Parser,
  parameters: QueryTree['parameters'],
  parts: readonly Part[]
) => Expansion | undefined

/** Where a relation leads. */
export interface RelationGrammar {
  readonly isMany: boolean
  /** How many items are included by default; undefined for a relation to one item. */
  readonly limit: number | undefined
  /** The other collection. */
  readonly target: Grammar
}

/** The relations that a query names, and those of their items. */
export type Mentions = ReadonlyMap<string, Mentions>

/** A name: the relations that it follows, and what remains. `comments.some.author.name.like` follows two. */
export interface Name {
  /** As it was written. */
  readonly text: string
  readonly steps: readonly Step[]
  /** A property and perhaps an operator; after the step `count`, `count` and perhaps an operator. */
  readonly last: string
}

export interface Step {
  readonly relation: string
  /** One related item counts as some. */
  readonly has: 'some' | 'none' | 'count'
}

/** Where something is in the content of a QUERY or a call. */
export type Path = readonly string[]

/** A name with an operator, and its value: `price.gte`. */
export interface Term {
  readonly kind: 'term'
  readonly name: Name
  readonly value: unknown
  readonly at: Path
}

/** Conditions about related items in an object of their own, which are about the same item. */
export interface RelatedTree {
  readonly kind: 'related'
  readonly relation: string
  readonly at: Path
  readonly parts: ReadonlyArray<Term | QuantifiedTree>
}

/** `some` or `none` of the related items. */
interface QuantifiedTree {
  readonly kind: 'quantified'
  readonly has: 'some' | 'none'
  readonly filter: FilterTree
}

/** A mistake that does not depend on the caller. It is reported in its turn, with those about names. */
export interface Mistake {
  readonly kind: 'mistake'
  readonly at: Path
  readonly message: string
}

export type FilterTree =
  | Term
  | RelatedTree
  | Mistake
  /** The conditions of one object, or of `all`, or of `any`. */
  | { readonly kind: 'object' | 'all' | 'any', readonly at: Path, readonly parts: readonly FilterTree[] }
  | { readonly kind: 'not', readonly filter: FilterTree }

/** A property of the content of a QUERY or a call. */
export interface Part {
  readonly name: string
  readonly value: unknown
  /** What `filter` contains. */
  readonly filter?: FilterTree
}

/** What is requested of related items, by the name of their relation. */
export type ExpandTree = ReadonlyMap<string, ExpandedTree>

export interface ExpandedTree {
  /** Such as `limit`, or a condition. */
  readonly options: ReadonlyMap<string, ExpandOption>
  readonly inner: ExpandTree
}

export interface ExpandOption {
  readonly value: unknown
  /** Whether the value is text of a query string. */
  readonly isText: boolean
  /** What it means unless it is a parameter of lists. */
  readonly condition: FilterTree
}

/** What `expand` and the parameters that continue its name request. */
export interface Expansion {
  readonly tree: ExpandTree
  /** Whether `expand` itself comes from the content of a QUERY or a call. */
  readonly isContent: boolean
  /** Parameters about relations with the values that they have by default. They request nothing. */
  readonly defaults: readonly string[]
  /** Reported in its turn. */
  readonly problem: Problem | undefined
}

/** A query as it was written. */
export interface QueryTree {
  /** The parameters of the query string, as Fastify has parsed them. Without relations, their names need no tree. */
  readonly parameters: Readonly<Record<string, unknown>>
  /** The names of parameters that follow relations. */
  readonly names: ReadonlyMap<string, Name>
  /** The content of a QUERY, or the query of a call. */
  readonly content: readonly Part[] | Mistake | Problem | undefined
  readonly expansion: Expansion | undefined
  readonly mentions: Mentions
  /** Whether it names more relations that follow each other than a query can have. */
  readonly isTooDeep: boolean
}

/** Whether a query has a parameter: in the query string, or in its content. */
export function hasParameter ({ parameters, content }: QueryTree, name: string): boolean {
  return Object.hasOwn(parameters, name) || getParts(content).some((part) => part.name === name)
}

/** Returns the query without some of its parameters. */
export function omitParameters (tree: QueryTree, names: ReadonlySet<string>): QueryTree {
  const parameters = Object.fromEntries(Object.entries(tree.parameters).filter(([name]) => !names.has(name)))
  const content = isParts(tree.content) ? tree.content.filter(({ name }) => !names.has(name)) : tree.content
  return { ...tree, parameters, content }
}

function isParts (content: QueryTree['content']): content is readonly Part[] {
  return Array.isArray(content)
}

export function getParts (content: QueryTree['content']): readonly Part[] {
  return isParts(content) ? content : []
}
