import { checkListing, checkOptions, checkProfiles, checkRelations, checkStorage, checkSupport } from './checks.ts'
import { noNeighbors } from './collection.ts'
import type { Collection } from './collection.ts'
import { deadlinesOf, punctual } from './deadline.ts'
import { digestSchema, TagSuffixes } from './definition-digest.ts'
import { hal } from './formats/hal.ts'
import { json } from './formats/json.ts'
import { xml } from './formats/xml.ts'
import { cachePolicy } from './http/cache-control.ts'
import { cacheGroupInvalidation, cacheGroups } from './http/cache-groups.ts'
import { anyChallenge } from './http/www-authenticate.ts'
import { checkCache, guardOf, isPersonal } from './guard.ts'
import { checkKeyOwners, idempotencyOf } from './idempotency.ts'
import { evolutionOf } from './evolution.ts'
import { identity } from './identity.ts'
import { listing } from './listing/listing.ts'
import { totalOrder } from './listing/total-order.ts'
import { remembered } from './remembered.ts'
import { membersOf } from './schema/members.ts'
import { actionNames } from './options.ts'
import type { Options } from './options.ts'
import { canonicalDates, dateTimesOf } from './schema/date-times.ts'
import { checkFilled, checkMembers, checkOrder, checkSchema, compiled } from './schema/checks.ts'
import { lacking, derived, marked, trusting } from './schema/derived.ts'
import { Messages } from './schema/messages.ts'
import type { ItemOf, ObjectSchema } from './schema/static.ts'
import type { JsonSchema } from './storage/contract.ts'
import { timestampsOf } from './timestamps.ts'

export type { Collection, Neighbors, Parent } from './collection.ts'

export function define<const Schema extends ObjectSchema> (options: Options<Schema>): Collection<ItemOf<Schema>> {
  checkOptions(options)
  const { name } = options
  // TypeBox schemas are JSON Schema; their interfaces have no index signature to say so.
  const given = checkSchema(name, options.schema as unknown as JsonSchema)
  const id = identity(name, given, options.id)
  const timestamps = timestampsOf(name, given, options.timestamps)
  const schema = marked(given, {
    [id.member]: id.by === 'client' ? 'immutable' : 'readOnly',
    ...options.tombstones && { [options.tombstones.member]: 'readOnly' as const },
    ...Object.fromEntries(Object.values(timestamps).filter(member => member !== undefined).map(member => [member, 'readOnly' as const]))
  })
  const unique = (options.unique ?? []).map(members => [members].flat())
  const order = totalOrder(options.order ?? [], id.member)
  const profiles = checkProfiles(options, id.member)
  const guard = guardOf(options, id.member)
  const idempotency = idempotencyOf(name, options.idempotency)
  checkKeyOwners(name, { idempotency, guard, routes: options.routes ?? {} })
  const visible = [...guard?.visible.keys() ?? []]
  checkMembers(name, schema, { unique: unique.flat(), order: order.map(({ member }) => member), visible })
  checkOrder(name, schema, order)
  const dateTimes = dateTimesOf(schema, id.member)
  const kept = checkStorage(name, options.storage({
    name,
    schema,
    unique,
    id: { member: id.member, by: id.by },
    canonical: item => canonicalDates(item, dateTimes)
  }))
  const storage = options.deadline === undefined ? kept : punctual(kept)
  checkSupport(name, storage, { unique: unique.length > 0, generatedIds: id.by === 'storage', order: order.length > 1 || options.sort !== undefined || profiles.length > 0, filter: options.filter !== undefined || options.scope !== undefined || profiles.length > 0, search: options.search !== undefined, transactions: options.bulk !== undefined, receipts: options.idempotency !== undefined, count: profiles.length > 0 })
  const evolution = evolutionOf(options, { schema, storage, updated: timestamps.updated })
  // What a client cannot give is filled otherwise, or was not.
  const fills = options.prepare !== undefined || options.scope !== undefined
  const rechecked = fills || visible.length > 0
  if (!fills) checkFilled(name, schema, [id.by === 'client' ? undefined : id.member, timestamps.created, timestamps.updated])
  const members = membersOf(schema)
  const lists = listing({ schema, members }, options, storage.supports)
  checkListing(name, lists.known, options)
  const [actions, routes] = [new Set(options.actions ?? actionNames), options.routes ?? {}]
  checkRelations({ name, actions, routes }, schema, options.relations)
  const trusted = [...id.assured ? [id.member] : [], ...Object.values(timestamps)].filter(member => member !== undefined)
  const draft = compiled(name, derived(trusting(schema, trusted), { optional: ['readOnly'] }))
  const formats = options.formats ?? [json, hal, xml]
  const links = options.links ?? (() => ({}))
  const digest = digestSchema(schema, visible)
  const cache = typeof options.cache === 'string' ? { list: options.cache, read: options.cache } : options.cache
  for (const action of ['list', 'read'] as const) if (isPersonal(guard, action)) checkCache(name, action, cache?.[action])
  return Object.freeze({
    name,
    schema,
    storage: evolution.tombstones?.living ?? storage,
    id,
    unique,
    definedAt: Math.ceil(Date.now() / 1000) * 1000,
    versionOf: undefined,
    timestamps,
    actions,
    routes,
    guard,
    challenge: options.authentication?.challenge ?? anyChallenge,
    deadline: deadlinesOf(options.deadline),
    page: { default: 20, maximum: 100, ...options.page },
    order,
    listing: lists,
    relations: options.relations ?? {},
    bulk: options.bulk && { maximum: 100, ...options.bulk },
    profiles,
    replace: { creates: false, tag: false, ...options.replace },
    idempotency,
    precondition: options.precondition ?? 'optional',
    weakTags: options.weakTags === 'tolerated',
    cache: { list: cachePolicy(cache?.list), read: cachePolicy(cache?.read) },
    groups: cache === undefined ? undefined : { read: cacheGroups(name), write: cacheGroupInvalidation(name) },
    formats,
    mediaTypes: formats.map(format => format.mediaType),
    written: remembered(formats),
    digest,
    tagSuffixes: new TagSuffixes({ formats, digest, links, neighbors: noNeighbors }),
    serviceDescription: options.serviceDescription,
    problems: options.problems,
    ...evolution,
    members,
    dateTimes,
    hidden: undefined,
    schemas: new Messages(schema, visible),
    validate: { draft, item: rechecked ? compiled(name, derived(id.by === 'storage' ? lacking(schema, id.member) : schema, {})) : draft },
    parent: undefined,
    neighbors: noNeighbors,
    hooks: { prepare: options.prepare !== undefined, changed: options.changed !== undefined, links: options.links !== undefined },
    links,
    prepare: options.prepare ?? (({ item }) => item),
    changed: options.changed ?? (() => {})
  })
}
