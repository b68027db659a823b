import type { JsonSchema } from '../storage/contract.ts'

/** Content that cannot be read as the format it claims to be; told to the client as 400. */
export class Malformed {
  readonly detail: string

  constructor (detail: string) {
    this.detail = detail
  }
}

export interface Link {
  readonly href: string
  readonly title?: string
}

/** By relation: `self`, `collection`, `next`, ... */
export type Links = Readonly<Record<string, Link>>

/** One wire format: how content of one media type is read and written. A user can add one to a definition. */
export interface Format {
  /** A short word; it makes the entity tags of this format differ from those of the others. */
  readonly name: string
  readonly mediaType: string
  /** Absent where the format can only be read by clients. Throws `Malformed`. */
  readonly parse?: (content: Buffer, schema: JsonSchema) => unknown
  readonly item: (item: object, links: Links, schema: JsonSchema) => string
  readonly list: (items: readonly object[], links: ListLinks, schema: JsonSchema) => string
  /** Puts a list together from what `item` gave; only for a format whose items carry no links. It spares writing them again. */
  readonly join?: (items: readonly string[]) => string
  /** What the content looks like, for OpenAPI, given the schema of an item or of an array of items. */
  readonly describe: (schema: JsonSchema) => JsonSchema
}

export interface ListLinks {
  /** Of the list itself. */
  readonly list: Links
  /** Of each item, in order. */
  readonly items: readonly Links[]
}
