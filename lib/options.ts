import type { FastifyRequest, RouteShorthandOptions } from 'fastify'
import type { ActionName } from './action.ts'
import type { Format, Link } from './formats/format.ts'
import type { Access, Authentication, Scoping, Visibility } from './access/guard.ts'
import type { ItemOf, PropertyOf, ObjectSchema } from './schema/static.ts'
import type { Adapter, GenerateId } from './storage/contract.ts'

// What a user writes. docs/definition.md has a line for each.

export { actionNames } from './action.ts'
export type { ActionName } from './action.ts'
export type { Related } from './collection.ts'

/** Fastify's own route options, but for those that the library sets itself. */
export type RouteOptions = Omit<RouteShorthandOptions, OwnedRouteOption>

export const ownedRouteOptions = ['schema', 'attachValidation', 'exposeHeadRoute', 'validatorCompiler', 'serializerCompiler', 'schemaErrorFormatter', 'errorHandler', 'prefixTrailingSlash'] as const

type OwnedRouteOption = typeof ownedRouteOptions[number]

export interface Change<Item> {
  readonly action: 'create' | 'replace' | 'update'
  /** The item to be written. Properties that are readOnly and that nothing has filled yet are absent. */
  readonly item: Item
  /** The item as it is stored; undefined on create. */
  readonly before: Readonly<Item> | undefined
  readonly request: FastifyRequest
}

export interface Changed<Item> {
  readonly action: 'create' | 'replace' | 'update' | 'remove'
  /** Undefined on create. */
  readonly before: Readonly<Item> | undefined
  /** Undefined on remove. */
  readonly after: Readonly<Item> | undefined
  readonly request: FastifyRequest
}

export interface Options<Schema extends ObjectSchema, Item extends object = ItemOf<Schema>> {
  /** The path segment of the collection: `users` is served at `/users`. */
  name: string
  /** A TypeBox object. `readOnly`, `writeOnly`, `immutable` and `default` of its properties are honoured. */
  schema: Schema
  /** `memory()`, or any other storage. */
  storage: Adapter<Item>
  /** The property that stands in the URI, and who makes its value. */
  id?: {
    property?: PropertyOf<Item>
    generate?: GenerateId
  }
  /** Properties, or sets of properties, of which no two items have the same value. */
  unique?: ReadonlyArray<PropertyOf<Item> | ReadonlyArray<PropertyOf<Item>>>
  /** Properties kept by the library; by default `createdAt` and `updatedAt` where the schema has them as readOnly date-times. */
  timestamps?: false | { created?: PropertyOf<Item>, updated?: PropertyOf<Item> }
  /** The actions to serve; any other answers 405. */
  actions?: readonly ActionName[]
  /** Fastify's route options, for one action or for every one. */
  routes?: Partial<Record<ActionName | 'every', RouteOptions>>
  /** How a caller is known. */
  authentication?: Authentication
  /** Who may do what: for every action, or for each. */
  access?: Access
  /** The rows that a caller can see and touch, and what a new one has to carry; without it, or where it gives undefined, every row. */
  scope?: Scoping<Item>
  /** By property, whether the caller sees it; who does not can neither read, ask for nor write it. */
  visible?: Readonly<Partial<Record<PropertyOf<Item>, Visibility>>>
  /** How many items a page has where the client does not say, and at most. */
  page?: { default?: number, maximum?: number }
  /** The order of lists; `-` in front means descending. The id is always the last. */
  order?: ReadonlyArray<PropertyOf<Item> | `-${PropertyOf<Item>}`>
  /** The properties that a list can be filtered by; by default every scalar that a client can see. */
  filter?: ReadonlyArray<PropertyOf<Item> | `${PropertyOf<Item>}.${string}`>
  /** The properties that a list can be sorted by; by default every scalar that a client can see. */
  sort?: ReadonlyArray<PropertyOf<Item> | `${PropertyOf<Item>}.${string}`>
  /** The properties that `?q=` looks into; without it there is no search. */
  search?: ReadonlyArray<PropertyOf<Item> | `${PropertyOf<Item>}.${string}`>
  /** PUT: whether it creates an absent item, and whether its answer bears the entity tag although the item differs from what was sent. */
  replace?: { creates?: boolean, tag?: boolean }
  /** Whether PUT, PATCH and DELETE need a precondition; without one they are answered 428. */
  precondition?: 'optional' | 'required'
  /** Whether If-Match takes our own tag behind a `W/` that a proxy has put there. */
  weakTags?: 'refused' | 'tolerated'
  /** Cache-Control of successful reads, for every caller. */
  cache?: string | { list?: string, read?: string }
  /** The formats that are spoken, the default first. */
  formats?: readonly Format[]
  /** Further links of an item, by relation, for formats that carry links. */
  links?: (item: Readonly<Item>) => Record<string, Link>
  /** The URI of the OpenAPI document of the service, told in the field Link as `service-desc`. */
  serviceDescription?: string
  /** An absolute URI in front of the names of problems, to make their types of; without it they are about:blank. */
  problems?: string
  /** Before the item is validated as a whole and written: fills and changes it. A throw refuses the write. */
  prepare?: (change: Change<Item>) => Item | Promise<Item>
  /** After the write. A throw is logged and changes nothing. */
  changed?: (change: Changed<Item>) => void | Promise<void>
}

/** Every option, so that one that does not exist can be told. */
export const optionNames: ReadonlySet<string> = new Set<keyof Options<ObjectSchema>>([
  'name', 'schema', 'storage', 'id', 'unique', 'timestamps', 'actions', 'routes', 'authentication', 'access', 'scope', 'visible', 'page', 'order', 'filter', 'sort', 'search', 'replace', 'precondition',
  'weakTags', 'cache', 'formats', 'links', 'serviceDescription', 'problems', 'prepare', 'changed'
])
