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
  /** For a format that shows more than the content: what a person can ask and do here. Such a page is made for its caller, and not kept. */
  readonly page?: (content: Content, about: About) => string
  /** A problem (RFC 9457), for clients that would rather have this format than JSON. */
  readonly problem?: (problem: Readonly<Record<string, unknown>>) => string
  /** Further header fields of pages, in lower case. */
  readonly fields?: Readonly<Record<string, string>>
}

export interface ListLinks {
  /** Of the list itself. */
  readonly list: Links
  /** Of each item, in order. */
  readonly items: readonly Links[]
}

/** What stands on a page: an item, or a list of them. */
export type Content =
  | { readonly item: object, readonly links: Links }
  | { readonly items: readonly object[], readonly links: ListLinks }

/** What can be told of the target of a request, beside its content. */
export interface About {
  readonly offer: Offer
  /** The target, without parameters that are empty: a form sends those of its fields that say nothing. */
  readonly path: string
  readonly search: string
  /** Scheme and authority, as the client has them. */
  readonly origin: string
  /** The way from the outermost collection to the target. */
  readonly trail: readonly Link[]
  /** What the caller may do, by the names of actions. */
  readonly actions: ReadonlySet<string>
  /** Properties whose value is not the caller's to choose: the URI or its rights say it. */
  readonly fixed: readonly string[]
  /** By property, the path of the collection that it names an item of. */
  readonly related: ReadonlyMap<string, string>
  /** Names the state of the item in If-Match. */
  readonly tag: string | undefined
  /** How many items there are in all, where that was asked. */
  readonly total: string | undefined
}

/** What a collection takes and gives, whoever asks. */
export interface Offer {
  readonly name: string
  /** The property that stands in the URI. */
  readonly id: string
  readonly schemas: { readonly create: JsonSchema, readonly replace: JsonSchema, readonly read: JsonSchema }
  /** Of answers, the default first. */
  readonly mediaTypes: readonly string[]
  /** Whether content is taken as JSON. */
  readonly takesJson: boolean
  readonly filters: ReadonlyArray<{ readonly property: string, readonly schema: JsonSchema }>
  readonly sorts: readonly string[]
  readonly search: boolean
  readonly counts: boolean
  readonly limit: { readonly default: number, readonly maximum: number }
  /** RFC 8631: where the service is described. */
  readonly description: string | undefined
}
