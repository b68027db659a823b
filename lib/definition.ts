import { checkListing, checkOptions, checkSupport } from './checks.ts'
import { BadSchema } from './errors.ts'
import type { Format, Link } from './formats/format.ts'
import { hal } from './formats/hal.ts'
import { json } from './formats/json.ts'
import { xml } from './formats/xml.ts'
import { cachePolicy } from './http/cache-control.ts'
import type { CachePolicy } from './http/cache-control.ts'
import { cacheGroupInvalidation, cacheGroups } from './http/cache-groups.ts'
import { identity } from './identity.ts'
import type { Identity } from './identity.ts'
import { listing } from './listing/listing.ts'
import type { Listing } from './listing/listing.ts'
import { membersOf } from './schema/members.ts'
import type { Mark, Members } from './schema/members.ts'
import { actionNames } from './options.ts'
import type { ActionName, Change, Changed, Options, RouteOptions } from './options.ts'
import { checkFilled, checkMembers, checkOrder, checkSchema, compiled } from './schema/checks.ts'
import type { ItemSchema } from './schema/checks.ts'
import { derived } from './schema/derived.ts'
import type { ItemOf, ObjectSchema } from './schema/static.ts'
import type { Entry, JsonSchema, Order, Storage } from './storage/contract.ts'
import type { Validator } from './schema/validation.ts'

/** An entry as a client sees it, with the fields that describe it. */
export interface Representation {
  /** That of the collection at which it was written. */
  readonly path: string
  readonly content: string
  readonly fields: Readonly<Record<string, string>>
}

/** A definition with its defaults filled in and everything derived that can be derived at boot. */
export interface Collection<Item = object> {
  readonly name: string
  readonly schema: JsonSchema
  readonly storage: Storage<Item>
  readonly id: Identity
  readonly timestamps: { readonly created: string | undefined, readonly updated: string | undefined }
  readonly actions: ReadonlySet<ActionName>
  readonly routes: Readonly<Partial<Record<ActionName | 'every', RouteOptions>>>
  readonly page: { readonly default: number, readonly maximum: number }
  readonly order: readonly Order[]
  readonly listing: Listing
  readonly replace: { readonly creates: boolean, readonly tag: boolean }
  readonly precondition: 'optional' | 'required'
  readonly weakTags: boolean
  readonly cache: { readonly list: CachePolicy, readonly read: CachePolicy }
  /** RFC 9875: fields of successful reads and of writes, where anything is kept fresh in caches. */
  readonly groups: { readonly read: Readonly<Record<string, string>>, readonly write: Readonly<Record<string, string>> } | undefined
  readonly formats: readonly Format[]
  /** Those of the formats, in their order. */
  readonly mediaTypes: readonly string[]
  /** What was written of an entry already. */
  readonly written: ReadonlyMap<Format, WeakMap<Entry<object>, Representation>>
  readonly serviceDescription: string | undefined
  readonly problems: string | undefined
  readonly members: Members
  /** What the content of each kind of message looks like. */
  readonly schemas: { readonly create: JsonSchema, readonly replace: JsonSchema, readonly patch: JsonSchema, readonly read: JsonSchema }
  /** Before `prepare`, with readOnly members not yet filled, and after it. */
  readonly validate: { readonly draft: Validator, readonly item: Validator }
  readonly hooks: { readonly prepare: boolean, readonly changed: boolean }
  links (item: Readonly<Item>): Readonly<Record<string, Link>>
  prepare (change: Change<Item>): Item | Promise<Item>
  changed (change: Changed<Item>): void | Promise<void>
}

export function define<const Schema extends ObjectSchema> (options: Options<Schema>): Collection<ItemOf<Schema>> {
  checkOptions(options)
  const { name } = options
  // TypeBox schemas are JSON Schema; their interfaces have no index signature to say so.
  const given = checkSchema(name, options.schema as unknown as JsonSchema)
  const id = identity(name, given, options.id)
  const timestamps = readTimestamps(name, given, options.timestamps)
  const schema = marked(given, {
    [id.member]: id.by === 'client' ? 'immutable' : 'readOnly',
    ...Object.fromEntries(Object.values(timestamps).filter(member => member !== undefined).map(member => [member, 'readOnly' as const]))
  })
  const unique = (options.unique ?? []).map(members => [members].flat())
  const order = readOrder(options.order ?? [], id.member)
  checkMembers(name, schema, { unique: unique.flat(), order: order.map(({ member }) => member) })
  checkOrder(name, schema, order)
  const storage = options.storage({ name, schema, unique, id: { member: id.member, by: id.by } })
  checkSupport(name, storage, { unique: unique.length > 0, generatedIds: id.by === 'storage', order: order.length > 1 || options.sort !== undefined, filter: options.filter !== undefined, search: options.search !== undefined })
  if (options.prepare === undefined) checkFilled(name, schema, [id.by === 'client' ? undefined : id.member, timestamps.created, timestamps.updated])
  const lists = listing(schema, options, storage.supports)
  checkListing(name, new Set(lists.known.keys()), { filter: options.filter, sort: options.sort, search: options.search })
  const draft = compiled(name, derived(schema, { optional: ['readOnly'] }))
  const formats = options.formats ?? [json, hal, xml]
  const cache = typeof options.cache === 'string' ? { list: options.cache, read: options.cache } : options.cache
  return Object.freeze({
    name,
    schema,
    storage,
    id,
    timestamps,
    actions: new Set(options.actions ?? actionNames),
    routes: options.routes ?? {},
    page: { default: 20, maximum: 100, ...options.page },
    order,
    listing: lists,
    replace: { creates: false, tag: false, ...options.replace },
    precondition: options.precondition ?? 'optional',
    weakTags: options.weakTags === 'tolerated',
    cache: { list: cachePolicy(cache?.list), read: cachePolicy(cache?.read) },
    groups: cache === undefined ? undefined : { read: cacheGroups(name), write: cacheGroupInvalidation(name) },
    formats,
    mediaTypes: formats.map(format => format.mediaType),
    written: new Map(formats.map(format => [format, new WeakMap()])),
    serviceDescription: options.serviceDescription,
    problems: options.problems,
    members: membersOf(schema),
    schemas: {
      create: derived(schema, { drop: 'readOnly' }),
      replace: derived(schema, { drop: 'readOnly', optional: ['writeOnly'] }),
      patch: derived(schema, { drop: 'readOnly', partial: true }),
      read: derived(schema, { drop: 'writeOnly' })
    },
    validate: { draft, item: options.prepare === undefined ? draft : compiled(name, derived(id.by === 'storage' ? anonymous(schema, id.member) : schema, {})) },
    hooks: { prepare: options.prepare !== undefined, changed: options.changed !== undefined },
    links: options.links ?? (() => ({})),
    prepare: options.prepare ?? (({ item }) => item),
    changed: options.changed ?? (() => {})
  })
}

function readTimestamps (name: string, schema: ItemSchema, options: { created?: string, updated?: string } | false | undefined): Collection['timestamps'] {
  if (options === false) return { created: undefined, updated: undefined }
  if (options === undefined) return { created: conventional(schema, 'createdAt'), updated: conventional(schema, 'updatedAt') }
  const { created, updated } = options
  for (const member of [created, updated]) {
    if (member === undefined) continue
    checkMembers(name, schema, { timestamps: [member] })
    if (schema.properties[member]?.format !== 'date-time') throw new BadSchema(name, `the member "${member}" is kept as a timestamp, so it has to be Type.String({ format: 'date-time' }).`)
  }
  return { created, updated }
}

function conventional (schema: ItemSchema, member: string): string | undefined {
  const described = schema.properties[member]
  return described?.format === 'date-time' && described.readOnly === true ? member : undefined
}

function marked (schema: ItemSchema, marks: Readonly<Record<string, Mark>>): ItemSchema {
  const properties = Object.entries(schema.properties).map(([name, member]) => {
    const mark = marks[name]
    return [name, mark === undefined ? member : { ...member, [mark]: true }]
  })
  return { ...schema, properties: Object.fromEntries(properties) }
}

/** The order ends with the id, past which nothing is left to be ordered. */
function readOrder (members: readonly string[], id: string): Order[] {
  const order = members.map(member => member.startsWith('-') ? { member: member.slice(1), descending: true } : { member, descending: false })
  const last = order.findIndex(({ member }) => member === id)
  return last < 0 ? [...order, { member: id, descending: false }] : order.slice(0, last + 1)
}

/** A new item has no id before the storage has made it. */
function anonymous (schema: JsonSchema, id: string): JsonSchema {
  return { ...schema, required: [schema.required].flat().filter(member => member !== undefined).filter(member => member !== id) }
}
