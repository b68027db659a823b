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
