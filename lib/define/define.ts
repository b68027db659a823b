import { checkCache, dependsOnCaller, readAccess } from '../engine/access/rules.ts'
import type { AccessOptions } from '../engine/access/rules.ts'
import { checkListing, checkOptions, checkStorage, checkSupport } from './checks.ts'
import { noApp } from '../engine/collection.ts'
import type { Collection, Definition } from '../engine/collection.ts'
import type { AddsOfFeature, AnyFeature, FeaturesOf, InferredFeatures } from '../engine/feature.ts'
import { Attachments } from '../engine/host.ts'
import { addEntries } from '../formats/entries.ts'
import { toCachePolicy } from '../http/cache-control.ts'
import { buildCacheGroupInvalidation, buildCacheGroups } from '../http/cache-groups.ts'
import { WriteQueue } from '../engine/write-queue.ts'
import { deriveLists } from '../query/lists.ts'
import { toTotalOrder } from '../query/selection.ts'
import { addDefaults, checkObject, checkShared, mergeOptions, toCacheGroup } from './option-table.ts'
import type { ListOptions, Options } from '../engine/definition.ts'
import { checkOrder, checkProperties, checkRequiredReadOnly, checkSchema } from '../schema/checks.ts'
import { findDateTimes, normalizeDates } from '../schema/date-times.ts'
import { readIdentity } from '../schema/ids.ts'
import { ItemType } from '../schema/item-type.ts'
import { addAnnotations } from '../schema/rewrite-schema.ts'
import { convertSchema } from '../schema/standard-schema.ts'
import type { ItemOf, ObjectSchema } from '../schema/static.ts'
import { readTimestamps } from '../schema/timestamps.ts'
import type { Adapter } from '../storage/contract.ts'

/** Checks the options, opens the storage and derives what does not depend on features. */
function readOptions<Schema extends ObjectSchema> (options: Options<Schema>) {
  checkOptions(options)
  const { name } = options
  const { access: { challenge, trustedOrigins }, list, formats: stated, ...complete } = addDefaults(options)
  const formats = addEntries(stated)
  const { schema: described, refinement } = convertSchema(name, options.schema)
  const given = checkSchema(name, described)
  const id = readIdentity(name, given, options.id)
  const timestamps = readTimestamps(name, given, options.timestamps)
  const stamped = Object.values(timestamps).filter((property) => property !== undefined)
  const schema = addAnnotations(given, {
    [id.property]: id.generate === 'client' ? 'immutable' : 'readOnly',
    ...Object.fromEntries(stamped.map((property) => [property, 'readOnly' as const]))
  })
  const unique = complete.unique.map((properties) => [properties].flat())
  const order = toTotalOrder(list.order, id.property)
  const access = readAccess(name, options.access as AccessOptions, id.property)
  const visible = [...access?.visible.keys() ?? []]
  checkProperties(name, schema, {
    unique: unique.flat(),
    'list.order': order.map(({ property }) => property),
    'access.visible': visible
  })
  checkOrder(name, schema, order)
  const dateTimes = findDateTimes(schema, id.property)
  const storage = checkStorage(name, options.storage({
    name,
    schema,
    unique,
    id: { property: id.property, generate: id.generate },
    lists: { order, filter: list.filter ?? [] },
    canonical: (item) => normalizeDates(item, dateTimes)
  }))
  checkSupport(name, storage, {
    unique: unique.length > 0,
    generatedIds: id.generate === 'storage',
    order: order.length > 1 || list.sort !== undefined,
    filter: list.filter !== undefined || access?.scope !== undefined,
    search: list.search !== undefined,
    transactions: options.hooks?.beforeWrite !== undefined || options.hooks?.afterWrite !== undefined
  })
  const cache = options.cache === undefined ? undefined : toCacheGroup(options.cache)
  for (const action of ['list', 'read'] as const) {
    if (dependsOnCaller(access, action)) checkCache(name, action, cache?.[action])
  }
  return {
    name,
    schema,
    storage,
    writeQueue: new WriteQueue(),
    id,
    unique,
    timestamps,
    actions: new Set(complete.actions),
    access,
    list,
    order,
    put: complete.put,
    dateTimes,
    refinement,
    app: noApp,
    hooks: options.hooks ?? {},
    http: {
      routes: complete.routes,
      formats,
      mediaTypes: formats.map((format) => format.mediaType),
      etag: complete.etag,
      cache: { list: toCachePolicy(cache?.list), read: toCachePolicy(cache?.read) },
      groups: cache && { read: buildCacheGroups([name]), write: buildCacheGroupInvalidation(name) },
      challenge,
      trustedOrigins,
      definedAt: Math.ceil(Date.now() / 1000) * 1000,
      ...options.links !== undefined && { links: options.links }
    }
  }
}

type Base<Schema extends ObjectSchema> = ReturnType<typeof readOptions<Schema>>

/** Compiles the type of the items, with the properties that features have marked. */
function compileType<Schema extends ObjectSchema> (
  options: Options<Schema>,
  base: Base<Schema>,
  { marks, actions }: Pick<Attachments, 'marks' | 'actions'>
) {
  const { name, id, timestamps, dateTimes, refinement, access } = base
  const schema = addAnnotations(base.schema, marks)
  const concealed = [...access?.visible.keys() ?? []]
  const setsProperties = options.hooks?.beforeValidation !== undefined || access?.scope !== undefined
  if (!setsProperties) {
    const ownId = id.generate === 'client' ? undefined : id.property
    checkRequiredReadOnly(name, schema, [ownId, timestamps.created, timestamps.updated])
  }
  return new ItemType({
    name,
    schema,
    refinement,
    id,
    timestamps,
    dateTimes,
    concealed,
    isCompleted: setsProperties || concealed.length > 0 || options.hooks?.beforeWrite !== undefined,
    isReturned: actions.size > 0
  })
}

/**
 * Returns a function that creates the collection with any features. Features that mark no property share the
 * type of the items.
 */
function createComposer<Schema extends ObjectSchema> (
  options: Options<Schema>,
  base: Base<Schema>
): (features: readonly AnyFeature[]) => Collection<ItemOf<Schema>> {
  const { name } = base
  const { timestamps, dateTimes, refinement, list, order, ...collectionParts } = base
  const typesByMarks = new Map<string, ItemType>()

  return function compose (features) {
    const attached = new Attachments({ ...base, filter: list.filter }, features)
    // The layers of features handle items of any type.
    const storage = attached.composeStorage(base.storage) as typeof base.storage
    const key = JSON.stringify([attached.marks, attached.actions.size > 0])
    const type = typesByMarks.get(key) ?? compileType(options, base, attached)
    typesByMarks.set(key, type)
    const lists = deriveLists(type, {
      ...list,
      order,
      featureParameters: attached.queryParameters,
      needsWholeItems: options.links !== undefined,
      supports: storage.supports
    })
    checkListing(name, lists.known, list)
    const arrays = list.filter?.some((property) => lists.known.get(property)?.isArray)
    checkSupport(name, storage, { arrays: arrays === true })
    return Object.freeze({
      ...collectionParts,
      schema: type.schema,
      type,
      access: attached.extendAccess(base.access),
      storage,
      baseStorage: base.storage,
      features,
      attached,
      lists,
      views: new Map(),
      bound: new Map(),
      with: (...more: ReadonlyArray<AnyFeature | undefined>) => {
        return compose([...features, ...more.filter((feature) => feature !== undefined)])
      }
    })
  }
}

/**
 * Checks the options, fills in the defaults, opens the storage and returns a frozen definition. Throws if an option is
 * wrong.
 *
 * @example
 * const User = Type.Object({
 *   id: Type.String({ format: 'uuid', readOnly: true }),
 *   email: Type.String({ format: 'email' })
 * })
 * const users = define({ name: 'users', schema: User, storage: memory(), unique: ['email'] })
 * await app.register(collection, users)
 */
export function define<const Schema extends ObjectSchema> (options: Options<Schema>): Definition<ItemOf<Schema>> {
  const compose = createComposer(options, readOptions(options))
  return compose([])
}

/** Options that do not depend on the items of a collection. */
export interface Defaults
  extends Pick<Options<ObjectSchema>, 'actions' | 'routes' | 'put' | 'etag' | 'cache' | 'formats'> {
  /** The storage of collections that have none of their own. */
  storage?: Adapter<object>
  /** Who may do what. `scope` and `visible` depend on the item, so each definition has its own. */
  access?: Omit<AccessOptions, 'scope' | 'visible'>
  /** How many items a page has. */
  list?: Pick<ListOptions<object>, 'limit'>
}

/** The options of a definition. `storage` can be left out if the defaults have one. */
type RemainingOptions<Schema extends ObjectSchema, Given> =
  Omit<Options<Schema>, keyof Given & 'storage'> & Partial<Pick<Options<Schema>, 'storage'>>

/**
 * Returns a `define` with options and features that all collections of an app share. A definition can add to them or
 * replace them, option by option: `access: { allow: { list: 'public' } }` keeps `authenticate` and the other rules of
 * the defaults, and `cache: { read: 'no-store' }` keeps the policy of lists. Hooks in `routes` add up.
 *
 * @example
 * export const define = defineWith({ storage: sqlite(database), access: { authenticate } }, idempotency())
 * const users = define({ name: 'users', schema: User })
 */
export function defineWith<const Given extends Defaults, Added extends FeaturesOf<object>> (
  defaults: Given,
  ...features: InferredFeatures<Added, object>
) {
  checkObject(defaults, 'defineWith({ storage, access })')
  return <const Schema extends ObjectSchema>(
    options: RemainingOptions<Schema, Given>
  ): Definition<ItemOf<Schema>, AddsOfFeature<Added[number]>> => {
    // The defaults have the options that are missing here; TypeScript cannot infer that.
    const own = options as unknown as Options<Schema>
    checkObject(own, 'define({ name, schema })')
    checkShared(own.name, defaults)
    return define(mergeOptions(defaults, own)).with(...features)
  }
}
