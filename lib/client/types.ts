import type { Definition as AnyDefinition } from '../collection.ts'
import type { PropertyOf } from '../schema/static.ts'

// What the client of a collection takes and gives, by the type of its definition. Types alone: nothing of it is left in the browser.

/** The items of a definition. */
export type ItemOfCollection<Definition> = Definition extends AnyDefinition<infer Item> ? Item : never

/** What the schema says of properties by `readOnly`, `writeOnly` and `default`, which its type does not tell. */
export interface Marks {
  readonly readOnly?: string
  readonly writeOnly?: string
  readonly default?: string
}

type Mark<Given extends Marks, Name extends keyof Marks, Otherwise> = Given extends Readonly<Record<Name, infer Names extends string>> ? Names : Otherwise

/** Unless the marks say otherwise: what the library fills itself. */
type Filled = 'id' | 'createdAt' | 'updatedAt'

/** An item as it is read. */
export type Seen<Item, Given extends Marks> = Readonly<Omit<Item, Mark<Given, 'writeOnly', never>>>

/** An item as it is sent: what is readOnly is ignored, and what has a default can be left out. */
export type Sent<Item, Given extends Marks> = Omit<Item, Mark<Given, 'readOnly', Filled> | Mark<Given, 'default', never>> & Partial<Item>

/** A merge patch (RFC 7396): null takes an optional property away. */
export type Patch<Value> = Value extends readonly unknown[] ? Value : Value extends object
  ? { [Property in keyof Value]?: Patch<Value[Property]> | (undefined extends Value[Property] ? null : never) }
  : Value

type Scalar = string | number | boolean

/** The keys of a list: its parameters, and the properties to filter by, with or without an operator. */
export type Query<Item> = {
  readonly limit?: number
  readonly cursor?: string
  readonly sort?: ReadonlyArray<PropertyOf<Item> | `-${PropertyOf<Item>}` | `${string}.${string}`>
  readonly fields?: ReadonlyArray<PropertyOf<Item>>
  readonly expand?: readonly string[]
  readonly count?: boolean
  readonly q?: string
} & { readonly [Property in PropertyOf<Item> as Exclude<Property, Reserved>]?: Scalar } & { readonly [Key in `${PropertyOf<Item>}.${string}`]?: Scalar | readonly Scalar[] }

type Reserved = 'limit' | 'cursor' | 'sort' | 'fields' | 'expand' | 'count' | 'q'

export interface ClientOptions {
  /** Instead of the global one: to log, to retry, to send through an agent. */
  readonly fetch?: typeof fetch
  /** Of every request, such as Authorization; a function is asked for each. */
  readonly headers?: Readonly<Record<string, string>> | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>)
  /** The property that names an item in its URI. */
  readonly id?: string
}

export interface Call {
  readonly signal?: AbortSignal
  readonly headers?: Readonly<Record<string, string>>
}

export interface PageOfItems<Item> {
  readonly items: readonly Item[]
  /** How many there are in all, where `count` was asked. */
  readonly total: number | undefined
}

/** An item is meant by its id, or as it was last seen: then a write is done only if it is still so. */
export interface Client<Item, Given extends Marks = object> {
  /** All items that match, page by page as they are asked for. */
  list (query?: Query<Item>, call?: Call): AsyncGenerator<Seen<Item, Given>, void>
  pages (query?: Query<Item>, call?: Call): AsyncGenerator<PageOfItems<Seen<Item, Given>>, void>
  create (item: Sent<Item, Given>, call?: Call): Promise<Seen<Item, Given>>
  /** Of an item that was seen before, the same object where it has not changed. */
  read (item: Target<Item, Given>, call?: Call): Promise<Seen<Item, Given>>
  replace (item: Target<Item, Given>, by: Sent<Item, Given>, call?: Call): Promise<Seen<Item, Given>>
  update (item: Target<Item, Given>, patch: Patch<Item>, call?: Call): Promise<Seen<Item, Given>>
  remove (item: Target<Item, Given>, call?: Call): Promise<void>
}

export type Target<Item, Given extends Marks> = string | number | Seen<Item, Given>
