import type { Embedded, Link, Links, ListLinks } from '../http/link.ts'
import type { JsonSchema } from '../storage/contract.ts'

/** The pattern of texts in JSON Schema: no item and no query contains U+0000. */
export const textPattern = '^[^\\u0000]*$'

/** Thrown by `parse` for content that is malformed. The response is 400. */
export class Malformed {
  readonly detail: string

  constructor (detail: string) {
    this.detail = detail
  }
}

/** Creates an error with line and column. `before` is the text before the error. */
export function toMalformed (message: string, before: string): Malformed {
  const line = before.split('\n').length
  const column = Array.from(before.slice(before.lastIndexOf('\n') + 1)).length + 1
  return new Malformed(`Line ${line}, column ${column}: ${message}.`)
}

/** How a format writes related items that a response includes. */
export interface Embedding {
  /** Returns the properties that contain them. */
  readonly write: (related: Embedded) => object
  /**
   * Returns the schemas of these properties for OpenAPI, given the schema of each related item, or that of an array of
   * several items.
   */
  readonly describe: (related: Readonly<Record<string, JsonSchema>>) => Readonly<Record<string, JsonSchema>>
}

/** What identifies an item and its version. */
export interface EntryTag {
  /** The value in the URI of the item. */
  readonly id: string | number
  /** The entity tag of the whole item in plain JSON, for If-Match. */
  readonly tag: string
}

/** What a list has beside its items. */
export interface EntryTags {
  /** In the order of the items. */
  readonly entries?: readonly EntryTag[]
  /** How many items there are in all, if they were counted. */
  readonly total?: number | undefined
}

/** Content in a media type: text, or bytes for a binary format. */
export type Formatted = string | Buffer

/**
 * A media type: how content is parsed and formatted. An app can add its own to a definition.
 *
 * @example
 * const cbor: Format = {
 *   name: 'cbor',
 *   mediaType: 'application/cbor',
 *   item: (item) => encode(item),
 *   list: (items) => encode(items),
 *   parse: (content) => decode(content),
 *   describe: () => ({ type: 'string', format: 'binary' })
 * }
 */
export interface Format {
  /** A short word that is part of entity tags, so that they differ between formats. */
  readonly name: string
  /** The media type of the content, without parameters. */
  readonly mediaType: string
  /** Parses the content of a request. Throws `Malformed`. Without it, the format is for responses only. */
  readonly parse?: (content: Buffer, schema: JsonSchema) => unknown
  /** Whether it does not change the items that it gets. By default, they are frozen first. */
  readonly keepsItems?: boolean
  /** Formats an item. */
  readonly item: (item: object, links: Links, schema: JsonSchema, entry?: EntryTag) => Formatted
  /** Formats a list of items. */
  readonly list: (items: readonly object[], links: ListLinks, schema: JsonSchema, entries?: EntryTags) => Formatted
  /** Whether the content has links. If it is false, they are not built, and entity tags do not depend on them. */
  readonly hasLinks?: boolean
  /** Whether the content has entity tags. If it is not true, they are not built. Outputs of actions are plain JSON. */
  readonly hasTags?: boolean
  /** Returns the schema of the content for OpenAPI, given the schema of an item or of an array of items. */
  readonly describe: (schema: JsonSchema) => JsonSchema
  /**
   * Writes related items. Without it, each relation is a property of the item: the related item or null, or an object
   * with the `items` of a list, perhaps their `total`, and the URL of the `next` ones.
   */
  readonly embed?: Embedding
  /** Builds a page for people, with forms for what the caller can do. Pages are built for each request. */
  readonly page?: (content: Content, context: PageContext) => string
  /** Formats a problem (RFC 9457), for clients that prefer this format to JSON. */
  readonly problem?: (problem: Readonly<Record<string, unknown>>) => string
  /** Builds the page of the home document, for clients that prefer this format to JSON. */
  readonly home?: (home: Home) => string
  /** Further headers of pages, in lower case. */
  readonly headers?: Readonly<Record<string, string>>
}

/** The content of a page: an item or a list. */
export type Content =
  | {
    readonly item: object
    readonly links: Links
    /** Whether it is not an item, but the groups and figures of an aggregate. */
    readonly isAggregate?: boolean
  }
  | { readonly items: readonly object[], readonly links: ListLinks }

/** The home document of a service. */
export interface Home {
  /** The title of the service. */
  readonly title: string
  /** The path of the document. */
  readonly path: string
  /** The collections. The URI of one whose path has parameters is a template (RFC 6570). */
  readonly collections: ReadonlyArray<Required<Link> & { readonly isTemplate: boolean }>
  /** Other links of the service, such as the one to its OpenAPI document. */
  readonly links: ReadonlyArray<{ readonly href: string, readonly rel: string }>
}

/** What a page shows beside its content. */
export interface PageContext {
  /** What the collection offers, independent of the caller. */
  readonly capabilities: Capabilities
  /** The path of the request. */
  readonly path: string
  /** The query string of the request, without the empty parameters that a form sends. */
  readonly search: string
  /** Scheme and authority, as the client knows them. */
  readonly origin: string
  /** The breadcrumbs from the home document, if there is one, or the outermost collection to the target. */
  readonly trail: readonly Link[]
  /** The names of the actions that the caller can use. */
  readonly actions: ReadonlySet<string>
  /** Properties that the caller cannot choose: the URI or the scope sets them. */
  readonly fixed: readonly string[]
  /** By property, the path of the collection whose items it refers to. */
  readonly related: ReadonlyMap<string, string>
  /** The entity tag for If-Match. */
  readonly tag: string | undefined
  /** How many items there are in all, if they were counted. */
  readonly total: string | undefined
  /** The name or id of the caller; undefined if it is anonymous. */
  readonly caller: string | undefined
}

/** A custom action, for a form. */
export interface CustomCapability {
  /** The name, which is also that of its link. */
  readonly name: string
  /** Whether it is an action on an item. */
  readonly at: 'collection' | 'item'
  /** The text of its button. */
  readonly title: string
  /** The schema of its content. */
  readonly input: JsonSchema
}

/** What a collection offers, independent of the caller. */
export interface Capabilities {
  /** The name of the collection. */
  readonly name: string
  /** The property that is in the URI. */
  readonly id: string
  /** The schemas of an item that a client creates, sends to replace another one, and reads. */
  readonly schemas: {
    readonly create: JsonSchema
    readonly replace: JsonSchema
    readonly read: JsonSchema
  }
  /** The custom actions. An item has a link to each that is possible and that the caller may call. */
  readonly actions: readonly CustomCapability[]
  /** The media types of responses, the default first. */
  readonly mediaTypes: readonly string[]
  /** Whether requests can have JSON content. */
  readonly takesJson: boolean
  /** The properties that clients can filter by. */
  readonly filters: ReadonlyArray<{ readonly property: string, readonly isArray: boolean, readonly schema: JsonSchema }>
  /** The properties that clients can sort by. */
  readonly sorts: readonly string[]
  /** Whether there is `?q=`. */
  readonly search: boolean
  /** Whether there is `?count=true`. */
  readonly counts: boolean
  /** How many items a page has. */
  readonly limit: { readonly default: number, readonly maximum: number }
  /** Whether callers are identified, by `access.authenticate`. */
  readonly authenticates: boolean
  /** The URL of the service description (RFC 8631). */
  readonly description: string | undefined
}
