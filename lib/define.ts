import { checkListing, checkOptions, checkStorage, checkSupport } from './checks.ts'
import { noNeighbors } from './collection.ts'
import type { Collection, Definition } from './collection.ts'
import { digestSchema, TagSuffixes } from './response/tag-suffix.ts'
import { json } from './formats/json.ts'
import { cachePolicy } from './http/cache-control.ts'
import { cacheGroupInvalidation, cacheGroups } from './http/cache-groups.ts'
import { anyChallenge } from './http/www-authenticate.ts'
import { checkCache, guardOf, isPersonal } from './access/guard.ts'
import type { Feature } from './features/feature.ts'
import { Attachments } from './features/host.ts'
import { identity } from './items/ids.ts'
import { listing } from './listing/listing.ts'
import { totalOrder } from './listing/total-order.ts'
import { remembered } from './formats/remembered.ts'
import { propertiesOf } from './schema/properties.ts'
import { actionNames } from './options.ts'
import type { Options } from './options.ts'
import { canonicalDates, dateTimesOf } from './schema/date-times.ts'
import { checkFilled, checkProperties, checkOrder, checkSchema, compiled } from './schema/checks.ts'
import { lacking, derived, marked, trusting } from './schema/derived.ts'
import { Messages } from './schema/messages.ts'
import type { ItemOf, ObjectSchema } from './schema/static.ts'
import type { JsonSchema } from './storage/contract.ts'
import { timestampsOf } from './items/timestamps.ts'

/** Checks the options, opens the storage and derives what does not depend on features. */
function readOptions<Schema extends ObjectSchema> (options: Options<Schema>) {
  checkOptions(options)
  const { name } = options
  // TypeBox schemas are JSON Schema; their interfaces have no index signature to say so.
  const given = checkSchema(name, options.schema as unknown as JsonSchema)
  const id = identity(name, given, options.id)
  const timestamps = timestampsOf(name, given, options.timestamps)
  const schema = marked(given, {
    [id.property]: id.generate === 'client' ? 'immutable' : 'readOnly',
    ...Object.fromEntries(Object.values(timestamps).filter(property => property !== undefined).map(property => [property, 'readOnly' as const]))
  })
  const unique = (options.unique ?? []).map(properties => [properties].flat())
  const order = totalOrder(options.order ?? [], id.property)
  const guard = guardOf(options, id.property)
  const visible = [...guard?.visible.keys() ?? []]
  checkProperties(name, schema, { unique: unique.flat(), order: order.map(({ property }) => property), visible })
  checkOrder(name, schema, order)
  const dateTimes = dateTimesOf(schema, id.property)
  const storage = checkStorage(name, options.storage({
    name,
    schema,
    unique,
    id: { property: id.property, generate: id.generate },
    canonical: item => canonicalDates(item, dateTimes)
  }))
  checkSupport(name, storage, { unique: unique.length > 0, generatedIds: id.generate === 'storage', order: order.length > 1 || options.sort !== undefined, filter: options.filter !== undefined || options.scope !== undefined, search: options.search !== undefined })
  const [actions, routes] = [new Set(options.actions ?? actionNames), options.routes ?? {}]
  const formats = options.formats ?? [json]
  const cache = typeof options.cache === 'string' ? { list: options.cache, read: options.cache } : options.cache
  for (const action of ['list', 'read'] as const) if (isPersonal(guard, action)) checkCache(name, action, cache?.[action])
  return {
    name,
    schema,
    storage,
    id,
    unique,
    definedAt: Math.ceil(Date.now() / 1000) * 1000,
    versionOf: undefined as string | undefined,
    timestamps,
    actions,
    routes,
    guard,
    challenge: options.authentication?.challenge ?? anyChallenge,
    page: { default: 20, maximum: 100, ...options.page },
    order,
    replace: { creates: false, tag: false, ...options.replace },
    precondition: options.precondition ?? 'optional',
    weakTags: options.weakTags === 'tolerated',
    cache: { list: cachePolicy(cache?.list), read: cachePolicy(cache?.read) },
    groups: cache === undefined ? undefined : { read: cacheGroups(name), write: cacheGroupInvalidation(name) },
    formats,
    mediaTypes: formats.map(format => format.mediaType),
    serviceDescription: options.serviceDescription,
    problems: options.problems,
    dateTimes,
    hidden: undefined,
    neighbors: noNeighbors,
    hooks: { prepare: options.prepare !== undefined, changed: options.changed !== undefined, links: options.links !== undefined },
    links: options.links ?? (() => ({})),
    prepare: options.prepare ?? (({ item }) => item),
    changed: options.changed ?? (() => {})
  } satisfies Partial<Collection<ItemOf<Schema>>>
}

type Base<Schema extends ObjectSchema> = ReturnType<typeof readOptions<Schema>>

/** What is derived from the schema. Compiling the validators takes most of the time that a definition takes. */
function deriveSchema<Schema extends ObjectSchema> (options: Options<Schema>, { name, id, timestamps, guard, schema: given }: Base<Schema>, marks: Attachments['marks']) {
  const schema = marked(given, marks)
  const visible = [...guard?.visible.keys() ?? []]
  // What a client cannot give is filled otherwise, or was not.
  const fills = options.prepare !== undefined || options.scope !== undefined
  const rechecked = fills || visible.length > 0
  if (!fills) checkFilled(name, schema, [id.generate === 'client' ? undefined : id.property, timestamps.created, timestamps.updated])
  const trusted = [...id.assured ? [id.property] : [], ...Object.values(timestamps)].filter(property => property !== undefined)
  const draft = compiled(name, derived(trusting(schema, trusted), { optional: ['readOnly'] }))
  const item = rechecked ? compiled(name, derived(id.generate === 'storage' ? lacking(schema, id.property) : schema, {})) : draft
  return { schema, properties: propertiesOf(schema), schemas: new Messages(schema, visible), digest: digestSchema(schema, visible), validate: { draft, item } }
}

/** Makes the collection with any features: those that mark no property share what is derived from the schema. */
function composer<Schema extends ObjectSchema> (options: Options<Schema>, base: Base<Schema>): (features: readonly Feature[]) => Collection<ItemOf<Schema>> {
  const { name, formats, links } = base
  const known = new Map<string, ReturnType<typeof deriveSchema<Schema>>>()

  return function compose (features) {
    const attached = new Attachments({ ...base, filter: options.filter }, features)
    // What features put around the storage handles items of any type.
    const storage = attached.composeStorage(base.storage) as typeof base.storage
    const key = JSON.stringify(attached.marks)
    const ofSchema = known.get(key) ?? deriveSchema(options, base, attached.marks)
    known.set(key, ofSchema)
    const lists = listing(ofSchema, { ...options, parameters: [...attached.queryParameters.keys()] }, storage.supports)
    checkListing(name, lists.known, options)
    return Object.freeze({
      ...base,
      ...ofSchema,
      storage,
      baseStorage: base.storage,
      features,
      attached,
      parent: attached.parent,
      listing: lists,
      written: remembered(formats),
      tagSuffixes: new TagSuffixes({ formats, digest: ofSchema.digest, links, neighbors: noNeighbors }),
      with: (...more: readonly Feature[]) => compose([...features, ...more])
    })
  }
}

/**
 * Checks the options, fills in the defaults, opens the storage and returns a frozen definition. Mistakes are thrown here.
 *
 * @example
 * const User = Type.Object({ id: Type.String({ format: 'uuid', readOnly: true }), email: Type.String({ format: 'email' }) })
 * const users = define({ name: 'users', schema: User, storage: memory(), unique: ['email'] })
 * await app.register(collection, users)
 */
export function define<const Schema extends ObjectSchema> (options: Options<Schema>): Definition<ItemOf<Schema>> {
  return composer(options, readOptions(options))([])
}

/** Options that do not depend on the items of a collection. */
export type Defaults = Partial<Pick<Options<ObjectSchema, object>, 'storage' | 'actions' | 'routes' | 'authentication' | 'access' | 'page' | 'replace' | 'precondition' | 'weakTags' | 'cache' | 'formats' | 'serviceDescription' | 'problems'>>

/** The options of a definition, of which those with a default can be left out. */
type Remaining<Schema extends ObjectSchema, Given> = Omit<Options<Schema>, keyof Given & 'storage'> & Partial<Pick<Options<Schema>, 'storage'>>

/**
 * Returns a `define` with options and features that all collections of an app share. An option of a definition replaces the default.
 *
 * @example
 * export const define = defineWith({ storage: sqlite(database), authentication }, idempotency())
 * const users = define({ name: 'users', schema: User })
 */
export function defineWith<const Given extends Defaults> (defaults: Given, ...features: ReadonlyArray<Feature<object>>) {
  return <const Schema extends ObjectSchema>(options: Remaining<Schema, Given>): Definition<ItemOf<Schema>> => {
    // What is missing in the options is in the defaults; TypeScript does not follow that.
    return define({ ...defaults, ...options } as unknown as Options<Schema>).with(...features)
  }
}

/** An older version of a collection, with those of its features that do not depend on its items. */
export function defineVersion<Schema extends ObjectSchema> (current: Pick<Collection, 'name' | 'features'>, options: Options<Schema>): Collection<ItemOf<Schema>> {
  const compose = composer(options, { ...readOptions(options), versionOf: current.name })
  return compose(current.features.filter(({ inherited }) => inherited === true))
}
