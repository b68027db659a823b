import type { Problem } from '../http/problems.ts'
import type { JsonSchema } from '../storage/contract.ts'
import type { ListQuery } from './list-query.ts'
import type { Lists } from './lists.ts'

// What features add to the query strings of lists.

/** A parameter of the query string, and of the content of QUERY. */
export interface QueryParameter {
  readonly on: 'list' | 'both'
  /** Whether it is about what items contain, and not about which of them match. False by default. */
  readonly isAboutContent?: boolean
  /** Describes it in OpenAPI. */
  readonly schema: JsonSchema
  /** Whether a caller who does not see these properties can use it. True by default. */
  readonly isOffered?: (hidden: ReadonlySet<string>) => boolean
  /** The value that a text in a query string means. */
  readonly ofText: (text: string) => unknown
  /** What the value adds to the query; or, as a text, what it must be. */
  readonly read: (lists: Lists, value: unknown) => ListQuery | string
}

export type ClientParameters = Readonly<Record<string, unknown>>

/** A query string, read in the syntax of a client. */
export interface Translation {
  readonly listQuery: ListQuery
  /** The parameters that do not belong to the syntax. */
  readonly rest: ClientParameters
}

/** Another way to write the query string of a list. */
export interface QuerySyntax {
  translate (lists: Lists, parameters: ClientParameters): Translation | Problem
  /** How it requests related items, also of a single item; undefined if it does not. */
  readonly embedding: { readonly parameter: string, names (value: unknown): unknown } | undefined
  /** Its parameters, for OpenAPI. */
  readonly parameters: Readonly<Record<string, JsonSchema>>
}
