import { checkRouteFunctions } from './access/check-hooks.ts'
import { types } from 'node:util'
import { BadName, BadOption, BadStorage, Unsupported } from './errors.ts'
import type { Format } from './formats/format.ts'
import { isOrigin } from './http/cross-origin.ts'
import { isObject } from './http/json-value.ts'
import type { ListSettings } from './listing/lists.ts'
import type { QueryableProperty } from './listing/queryable.ts'
import { actionNames, ownedRouteOptions } from './options.ts'
import type { ActionName, LimitOptions, Options } from './options.ts'
import { describeUnorderedNumeral } from './schema/numerals.ts'
import type { ObjectSchema } from './schema/static.ts'
import type { Storage } from './storage/contract.ts'

// Mistakes in the options of a definition, found at boot.

export function checkOptions<Schema extends ObjectSchema> (options: Options<Schema>): void {
  const { name } = options
  if (typeof name !== 'string' || !/^[\w.~-]*[\w~-]$/.test(name)) throw new BadName(JSON.stringify(name))
  for (const [option, value] of Object.entries(options)) checkOption(name, option, value)
  if (options.storage === undefined) {
    throw new BadOption(name, 'storage is missing. Add one, such as storage: memory().')
  }
  if (typeof options.storage !== 'function') {
    throw new BadStorage(name, `storage is ${toKind(options.storage)}. ` +
      'It must be what a storage function returns, as in storage: memory() or storage: sqlite(database).')
  }
  for (const action of options.actions ?? []) {
    if (!actionNames.includes(action)) {
      throw new BadOption(name, `there is no action "${String(action)}". Available actions: ${actionNames.join(', ')}.`)
    }
  }
  checkRoutes(name, options.routes ?? {})
  checkLimit(name, options.list?.limit)
  if (options.put?.create === true && options.id?.generate === 'storage') {
    throw new BadOption(name, 'put.create needs ids that a client can choose, but id.generate is "storage". ' +
      'Remove one of them.')
  }
  checkFormats(name, options.formats)
  if (types.isAsyncFunction(options.links)) {
    throw new BadOption(name, 'links is an async function. Make it a function that returns the links, ' +
      'from the item alone.')
  }
}

function checkRoutes (name: string, routes: NonNullable<Options<ObjectSchema>['routes']>): void {
  for (const [action, route] of Object.entries(routes)) {
    if (action !== 'all' && !actionNames.includes(action as ActionName)) {
      throw new BadOption(name, `routes names "${action}". Use "all" or an action: ${actionNames.join(', ')}.`)
    }
    const owned = ownedRouteOptions.find((option) => Object.hasOwn(route, option))
    if (owned !== undefined) {
      throw new BadOption(name, `routes.${action}.${owned} is set by the library itself. Remove it.`)
    }
    checkRouteFunctions(name, `routes.${action}`, route)
  }
}

export const defaultLimit: Required<LimitOptions> = { default: 20, maximum: 100 }

function checkLimit (name: string, limit: LimitOptions = {}): void {
  const { default: length = defaultLimit.default, maximum = defaultLimit.maximum } = limit
  if (Number.isInteger(length) && Number.isInteger(maximum) && length >= 1 && length <= maximum) return
  throw new BadOption(name, `list.limit is { default: ${length}, maximum: ${maximum} }. ` +
    'Both must be integers, with 1 <= default <= maximum.')
}

function checkFormats (name: string, formats: Options<ObjectSchema>['formats']): void {
  if (formats === undefined) return
  for (const format of formats as readonly unknown[]) {
    if (isFormat(format)) continue
    throw new BadOption(name, `formats contains ${JSON.stringify(format) ?? typeof format}, which is not a format. ` +
      'Import formats and list them, as in formats: [json, hal], ' +
      'with json from fastify-collections and hal from fastify-collections/hal.')
  }
  const names = new Set(formats.map((format) => format.name))
  const mediaTypes = new Set(formats.map((format) => format.mediaType))
  if (formats.length > 0 && names.size === formats.length && mediaTypes.size === formats.length) return
  throw new BadOption(name, 'formats needs at least one format, and no two with the same name or media type. ' +
    'Leave it out for JSON.')
}

function isFormat (format: unknown): boolean {
  const { name, mediaType, item, list } = Object(format) as Partial<Record<keyof Format, unknown>>
  return typeof name === 'string' &&
    typeof mediaType === 'string' &&
    typeof item === 'function' &&
    typeof list === 'function'
}

interface Kind {
  /** In words, for the message. */
  readonly kind: string
  readonly matches: (value: unknown) => boolean
  /** The kinds of the options in a group. */
  readonly group?: Readonly<Record<string, Kind>>
}

const anything: Kind = { kind: 'anything', matches: () => true }
const array: Kind = { kind: 'an array', matches: Array.isArray }
const callback: Kind = { kind: 'a function', matches: (value) => typeof value === 'function' }
const boolean: Kind = { kind: 'true or false', matches: (value) => typeof value === 'boolean' }
const onlyFalse: Kind = { kind: 'false', matches: (value) => value === false }
const string: Kind = { kind: 'a string', matches: (value) => typeof value === 'string' }
const object: Kind = { kind: 'an object', matches: isObject }

function oneOf (...values: readonly string[]): Kind {
  return {
    kind: values.map((value) => `"${value}"`).join(' or '),
    matches: (value) => values.includes(value as string)
  }
}

function group (options: Readonly<Record<string, Kind>>): Kind {
  return { kind: `an object with ${Object.keys(options).join(', ')}`, matches: isObject, group: options }
}

function either (first: Kind, second: Kind): Kind {
  return {
    ...second,
    kind: `${first.kind} or ${second.kind}`,
    matches: (value) => first.matches(value) || second.matches(value)
  }
}

const rules: Kind = {
  kind: '"public", "authenticated", a function, or an object with one for each action',
  matches: (value) => typeof value === 'function' || typeof value === 'string' || isObject(value)
}
const origins: Kind = {
  kind: 'an array of origins, such as ["https://shop.example"], or "*"',
  matches: (value) => value === '*' || (Array.isArray(value) && value.every(isOrigin))
}
const functions: Kind = {
  kind: 'an object with a function for each property',
  matches: (value) => isObject(value) && Object.values(value).every((inner) => {
    return inner === undefined || typeof inner === 'function'
  })
}

/** What each option must be. Some are checked more closely elsewhere. */
const optionKinds: Readonly<Record<string, Kind>> = {
  name: anything,
  schema: anything,
  storage: anything,
  id: group({ property: anything, generate: anything }),
  unique: array,
  timestamps: either(onlyFalse, group({ created: anything, updated: anything })),
  actions: array,
  routes: object,
  access: group({
    authenticate: callback,
    challenge: anything,
    vary: array,
    trustedOrigins: origins,
    allow: rules,
    scope: callback,
    visible: functions
  }),
  list: group({
    limit: group({ default: anything, maximum: anything }),
    order: array,
    filter: array,
    sort: array,
    search: array
  }),
  put: group({ create: boolean }),
  etag: group({ required: boolean, acceptWeak: boolean, onPut: oneOf('exact', 'always') }),
  cache: either(string, group({ list: string, read: string })),
  formats: array,
  links: callback,
  hooks: group({ beforeValidation: callback, beforeWrite: callback, afterWrite: callback, afterCommit: callback })
} satisfies Record<keyof Options<ObjectSchema>, Kind>

/** All options, with those in groups: `id`, `id.property` and so on. docs/definition.md is tested against it. */
export const optionNames: readonly string[] = listNames(optionKinds)

function listNames (kinds: Readonly<Record<string, Kind>>, prefix = ''): string[] {
  return Object.entries(kinds).flatMap(([name, { group = {} }]) => {
    return [prefix + name, ...listNames(group, `${prefix}${name}.`)]
  })
}

function checkOption (name: string, option: string, value: unknown, kinds = optionKinds, path = option): void {
  const known = Object.hasOwn(kinds, option) ? kinds[option] : undefined
  if (known === undefined) {
    const prefix = path.slice(0, path.length - option.length)
    const names = Object.keys(kinds).map((other) => prefix + other)
    throw new BadOption(name, `there is no option "${path}". Available options: ${names.join(', ')}.`)
  }
  if (value === undefined) return
  if (!known.matches(value)) throw new BadOption(name, `${path} is ${JSON.stringify(value)}. It must be ${known.kind}.`)
  if (known.group === undefined || !isObject(value)) return
  for (const [inner, innerValue] of Object.entries(value)) {
    checkOption(name, inner, innerValue, known.group, `${path}.${inner}`)
  }
}

/** `known` are the properties that lists can be queried by. */
export function checkListing (
  name: string,
  known: ReadonlyMap<string, QueryableProperty>,
  { filter, sort, search }: Pick<ListSettings, 'filter' | 'sort' | 'search'>
): void {
  const scalars = [...known.keys()]
  const strings = [...known.values()].filter(({ type }) => type === 'string').map(({ property }) => property)
  checkChoice('filter', filter, scalars)
  checkChoice('sort', sort, scalars)
  checkChoice('search', search, strings)
  const numeral = sort?.find((property) => known.get(property)?.ordered === false)
  if (numeral !== undefined) throw new BadOption(name, describeUnorderedNumeral('list.sort', numeral))

  function checkChoice (option: string, properties: readonly string[] = [], choice: readonly string[]): void {
    const unknown = properties.find((property) => !choice.includes(property))
    if (unknown === undefined) return
    const kind = option === 'search' ? 'a string' : 'a string, number or boolean'
    throw new BadOption(name, `list.${option} contains "${unknown}", which is not ${kind} that clients can read. ` +
      `Available properties: ${choice.join(', ')}.`)
  }
}

const storageMethods = ['list', 'find', 'insert', 'replace', 'remove'] as const

/** Returns what a storage function has returned, if it is a storage. */
export function checkStorage<Item> (name: string, storage: Storage<Item>): Storage<Item> {
  const given: unknown = storage
  if (typeof given === 'function') {
    throw new BadStorage(name, 'storage returns a function instead of a storage. Call it, as in storage: memory().')
  }
  if (!isObject(given) || isPromise(given)) {
    throw new BadStorage(name, `storage returns ${toKind(given)} instead of a storage. ` +
      `It must return an object with ${storageMethods.join(', ')}, name and supports.`)
  }
  const { supports, receipts } = storage
  const missing: string[] = storageMethods.filter((method) => typeof storage[method] !== 'function')
  if (typeof storage.name !== 'string') missing.push('name')
  if (!isObject(supports)) missing.push('supports')
  else if (supports.transactions && typeof storage.transaction !== 'function') missing.push('transaction')
  else if (supports.receipts && !isObject(receipts)) missing.push('receipts')
  if (missing.length > 0) {
    throw new BadStorage(name, `what storage returns has no ${missing.join(', ')}. ` +
      'docs/storage.md describes the contract of a storage.')
  }
  return storage
}

function isPromise (value: unknown): boolean {
  return typeof (value as { then?: unknown }).then === 'function'
}

/** Never the value itself: a URL may contain a password. */
function toKind (value: unknown): string {
  if (value === undefined || value === null) return String(value)
  if (typeof value !== 'object') return `a ${typeof value}`
  return isPromise(value) ? 'a promise' : 'an object'
}

const needs = {
  unique: 'the option unique needs unique values',
  generatedIds: 'id.generate: "storage" needs ids from the storage',
  order: 'list.order and list.sort need an order by other properties than the id',
  filter: 'list.filter and access.scope need filters',
  search: 'list.search needs a search',
  transactions: 'hooks.beforeWrite and hooks.afterWrite run inside a transaction'
} as const

/** Refuses options that the storage cannot provide. */
export function checkSupport (
  name: string,
  storage: Storage<object>,
  needed: Readonly<Record<keyof typeof needs, boolean>>
): void {
  for (const need of Object.keys(needs) as Array<keyof typeof needs>) {
    if (needed[need] && !storage.supports[need]) throw new Unsupported(name, needs[need], storage.name)
  }
}
