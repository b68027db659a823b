import { checkAuthentication, checkRouteHooks } from '../../engine/access/check-door.ts'
import { isDefinition, toCollection } from '../../engine/collection.ts'
import type { Collection, Definition } from '../../engine/collection.ts'
import { readReceiptTimes } from '../../engine/receipts.ts'
import type { ReceiptSettings } from '../../engine/receipts.ts'
import { maxDelay } from '../../engine/time-limit.ts'
import { BadBatch } from '../../errors/errors.ts'
import { formatValue } from '../../errors/format-value.ts'
import { isObject } from '../../http/json-value.ts'
import type { RouteOptions } from '../../engine/definition.ts'
import type { ServedCollection } from '../../engine/registry.ts'
import { registerOptions } from '../../engine/route-options.ts'
import { getSingleActions } from '../../engine/table.ts'

// The options of the plugin `batch`, and the checks at boot.

/** How a batch uses the header `Idempotency-Key`. */
export interface BatchIdempotencyOptions {
  /**
   * Whether batches without a key are refused with 400.
   *
   * @default false
   * @example
   * idempotency: { required: true }
   */
  required?: boolean
  /**
   * How long a response is kept, in milliseconds.
   *
   * @default 86_400_000, which is a day
   * @example
   * idempotency: { expiry: 3_600_000 }
   */
  expiry?: number
  /**
   * How long a batch whose process has crashed holds its key, in milliseconds. At least 100.
   *
   * @default 30_000
   * @example
   * idempotency: { lease: 60_000 }
   */
  lease?: number
}

/** The options of the plugin `batch`. */
export interface BatchOptions {
  /** The collections that parts can be about: of one database, with one `access.authenticate`. The app serves them. */
  collections: readonly Definition[]
  /**
   * How many parts a batch can have.
   *
   * @default 100
   * @example
   * await app.register(batch, { collections: [orders, lines], maximum: 20 })
   */
  maximum?: number
  /**
   * How long a batch may take, in milliseconds. After that the client gets 503, and nothing is written.
   *
   * @default 10000
   * @example
   * await app.register(batch, { collections: [orders, lines], timeout: 2000 })
   */
  timeout?: number
  /**
   * The path, below the prefix.
   *
   * @default '/batch'
   * @example
   * await app.register(batch, { collections: [orders, lines], path: '/transactions' })
   */
  path?: string
  /**
   * How batches use `Idempotency-Key`. One of the collections needs the feature `idempotency()`, which stores the
   * responses.
   *
   * @default {}, if one of the collections has the feature
   * @example
   * await app.register(batch, { collections: [orders, lines], idempotency: { required: true } })
   */
  idempotency?: BatchIdempotencyOptions
  /**
   * Options of the Fastify route, such as hooks, `bodyLimit` or the `config` of a plugin.
   *
   * @default {}
   * @example
   * await app.register(batch, { collections: [orders, lines], route: { bodyLimit: 5_000_000 } })
   */
  route?: RouteOptions
}

/** The options with their defaults. */
export interface BatchSettings {
  readonly collections: readonly Collection[]
  readonly maximum: number
  readonly timeout: number
  readonly path: string
  /** Undefined if the app does not state any. */
  readonly idempotency: BatchIdempotencyOptions | undefined
  readonly receipts: ReceiptSettings
  readonly route: RouteOptions
}

const optionNames = ['collections', 'maximum', 'timeout', 'path', 'idempotency', 'route']
const idempotencyNames = ['required', 'expiry', 'lease']
const pathPattern = /^(?:\/[\w~-][\w.~-]*)+$/

/** Checks the options and adds the defaults. */
export function readOptions (options: BatchOptions): BatchSettings {
  checkNames('batch', options, [...optionNames, ...registerOptions])
  const { collections, maximum = 100, timeout = 10_000, path = '/batch', idempotency, route = {} } = options
  if (!Array.isArray(collections) || collections.length === 0 || !collections.every(isDefinition)) {
    throw new BadBatch('collections must be an array of what define() returns, as in { collections: [orders, lines] }.')
  }
  if (!Number.isSafeInteger(maximum) || maximum < 1) {
    throw new BadBatch(`maximum is ${formatValue(maximum)}. Make it a whole number of 1 or more.`)
  }
  if (!(Number.isInteger(timeout) && timeout >= 1 && timeout <= maxDelay)) {
    throw new BadBatch(`timeout is ${formatValue(timeout)}. ` +
      `Make it a whole number of milliseconds from 1 to ${maxDelay}.`)
  }
  if (typeof path !== 'string' || !pathPattern.test(path)) {
    throw new BadBatch(`path is ${formatValue(path)}. Use a path such as "/batch".`)
  }
  if (!isObject(route)) {
    throw new BadBatch(`route is ${formatValue(route)}. Make it an object with options of a Fastify route.`)
  }
  return {
    collections: (collections as readonly Definition[]).map((definition) => toCollection(definition)),
    maximum,
    timeout,
    path,
    idempotency,
    receipts: readReceipts(idempotency),
    route
  }
}

function checkNames (where: string, options: unknown, names: readonly string[]): void {
  if (!isObject(options)) {
    throw new BadBatch(`${where} is ${formatValue(options)}. Make it an object with ${names.join(', ')}.`)
  }
  const unknown = Object.keys(options).find((name) => !names.includes(name))
  if (unknown === undefined) return
  throw new BadBatch(`${where} has no option "${unknown}". Available options: ${names.join(', ')}.`)
}

function readReceipts (idempotency: BatchIdempotencyOptions = {}): ReceiptSettings {
  checkNames('idempotency', idempotency, idempotencyNames)
  const { required = false } = idempotency
  if (typeof required !== 'boolean') {
    throw new BadBatch(`idempotency.required is ${formatValue(required)}. Make it true or false.`)
  }
  return readReceiptTimes(idempotency, (message) => {
    throw new BadBatch(message)
  })
}

const door = {
  calls: 'parts of a batch',
  request: 'a batch',
  fail (message: string): never {
    throw new BadBatch(message)
  }
}

/** Returns where the app serves the collections. Refuses those that a batch cannot contain. */
export function findServed (
  { collections, idempotency }: BatchSettings,
  registered: readonly ServedCollection[]
): readonly ServedCollection[] {
  const served = collections.flatMap(({ name, attached }) => {
    // The definition may have been copied to add register options. Its features are the same object.
    const found = registered.filter(({ collection }) => collection.attached === attached)
    if (found.length > 0) return found
    throw new BadBatch(`this app does not serve the collection ${name}. Register it with ` +
      'app.register(collection, definition), and pass the same definition: ' +
      'with() and relate() return other definitions.')
  })
  for (const [index, { path, collection }] of served.entries()) {
    checkPath(path, collection, served.slice(0, index))
    checkTransactions(collection, served[0]!.collection)
    checkAuthentication(collection, served[0]!.collection, door)
    checkParent(collection)
    checkRouteHooks(collection, getSingleActions(collection), door)
  }
  const keeper = findReceiptKeeper(served)
  if (keeper !== undefined) {
    for (const { collection } of served) checkKeyOwner(collection)
  } else if (idempotency !== undefined) {
    throw new BadBatch('idempotency is stated, but none of the collections has a place for responses. ' +
      'Add the feature to one of them, as in orders.with(idempotency()).')
  }
  return served
}

/** Returns the collection that stores the responses to batches with a key: the first with the feature. */
export function findReceiptKeeper (served: ReadonlyArray<{ readonly collection: Collection }>): Collection | undefined {
  return served.find(({ collection }) => collection.attached.required.has('receipts'))?.collection
}

function checkPath (
  path: string,
  { name, http: { routes } }: Collection,
  others: ReadonlyArray<{ readonly path: string }>
): void {
  if (others.some((other) => other.path === path)) {
    throw new BadBatch(`two collections are served at ${path}, so a part could not say which one it is about. ` +
      'Leave one of them out.')
  }
  if (Object.keys(routes.all?.constraints ?? {}).length > 0) {
    throw new BadBatch(`the routes of ${name} have constraints, which the path of a part cannot meet. Leave it out.`)
  }
  const odd = path.split('/').find((segment) => /[:*(]/.test(segment) && !/^:\w+$/.test(segment))
  if (odd !== undefined) {
    throw new BadBatch(`the path ${path} of ${name} has the segment "${odd}". ` +
      'Use a prefix whose parameters are whole segments, such as /:tenant, or leave the collection out.')
  }
}

function checkTransactions ({ name, storage }: Collection, first: Collection): void {
  if (!storage.supports.transactions || storage.transaction === undefined || storage.join === undefined) {
    throw new BadBatch(`the storage ${storage.name} of ${name} has no transactions that collections can share. ` +
      'Leave the collection out, or use another storage.')
  }
  if (storage.database !== first.storage.database) {
    throw new BadBatch(`${name} is in another database than ${first.name}, so no transaction can contain both. ` +
      'Register a batch for each database, with another path.')
  }
}

/** Parts of a nested collection read the parent, in the same transaction. */
function checkParent ({ name, storage, attached: { parent } }: Collection): void {
  if (parent === undefined) return
  const { name: parentName, storage: { database } } = parent.collection
  if (database === storage.database) return
  throw new BadBatch(`${parentName}, in which ${name} is nested, is in another database. Leave ${name} out.`)
}

/** A key belongs to a caller. Without `access.authenticate`, the library cannot know who that is. */
function checkKeyOwner ({ name, access, attached }: Collection): void {
  if (access === undefined || access.authenticate !== undefined || access.scope !== undefined) return
  const rules = [...Object.values(access.allow), ...[...attached.actions.keys()].map((action) => access.allow[action])]
  if (!rules.some((rule) => typeof rule === 'function')) return
  throw new BadBatch(`access.allow of ${name} is a function, but access.authenticate is missing, ` +
    'so the idempotency keys of callers cannot be kept apart. Add access: { authenticate: ({ request }) => ... }.')
}
