import { types } from 'node:util'
import { checkRouteFunctions } from '../engine/access/check-hooks.ts'
import { toRuleTable } from '../engine/access/rules.ts'
import type { AccessOptions } from '../engine/access/rules.ts'
import { BadOption } from '../errors/errors.ts'
import { formatValue } from '../errors/format-value.ts'
import { entries } from '../formats/entries.ts'
import type { Format } from '../formats/format.ts'
import { json } from '../formats/json.ts'
import { isOrigin } from '../http/cross-origin.ts'
import { isObject } from '../http/json-value.ts'
import { defaultChallenge } from '../http/www-authenticate.ts'
import { actionNames, ownedRouteOptions } from '../engine/definition.ts'
import type {
  ActionName,
  EtagOptions,
  LimitOptions,
  ListOptions,
  Options,
  PutOptions,
  RouteOptions
} from '../engine/definition.ts'
import {
  anything,
  array,
  boolean,
  callback,
  checkTable,
  fillTable,
  group,
  listNames,
  object,
  onlyFalse,
  string,
  valueOrGroup
} from './option-kinds.ts'
import type { Option, OptionKind } from './option-kinds.ts'
import { mergeRouteOptions } from '../engine/route-options.ts'
import type { ObjectSchema } from '../schema/static.ts'

// The options of define(), each in one row: what it must be, what it is if it is left out, and how a definition adds to
// the options that it shares with others. options.ts has their types. Options that depend on each other, or on the
// schema, are checked in checks.ts.

interface DefinitionOption extends Option {
  readonly group?: DefinitionTable
  /** Whether `defineWith()` accepts it. */
  readonly isShared?: true
  /** Adds the value of a definition to the shared one. Without it, groups are merged, and other values replaced. */
  readonly merge?: (shared: never, own: never) => unknown
}

type DefinitionTable = Readonly<Record<string, DefinitionOption>>

const rules: OptionKind = {
  kind: '"public", "authenticated", a function, or an object with one for each action',
  matches: (value) => typeof value === 'function' || typeof value === 'string' || isObject(value)
}
const origins: OptionKind = {
  kind: 'an array of origins, such as ["https://shop.example"], or "*"',
  matches: (value) => value === '*' || (Array.isArray(value) && value.every(isOrigin))
}
const functions: OptionKind = {
  kind: 'an object with a function for each property',
  matches: (value) => isObject(value) && Object.values(value).every((inner) => {
    return inner === undefined || typeof inner === 'function'
  })
}

const optionTable = {
  name: anything,
  schema: anything,
  storage: { ...anything, isShared: true },
  id: group({ property: anything, generate: anything }),
  unique: { ...array, default: [] },
  timestamps: valueOrGroup(onlyFalse, group({ created: anything, updated: anything })),
  actions: { ...array, default: actionNames, isShared: true, check: checkActions },
  routes: { ...object, default: {}, isShared: true, check: checkRoutes, merge: mergeRoutes },
  access: {
    ...group({
      authenticate: callback,
      challenge: { ...anything, default: defaultChallenge },
      vary: array,
      trustedOrigins: { ...origins, default: [] },
      allow: { ...rules, merge: mergeRules },
      scope: callback,
      visible: functions
    }),
    isShared: true
  },
  list: {
    ...group({
      limit: {
        ...group({ default: { ...anything, default: 20 }, maximum: { ...anything, default: 100 } }),
        check: checkLimit
      },
      offset: { ...boolean, default: true },
      order: { ...array, default: [] },
      filter: array,
      sort: array,
      search: array
    }),
    isShared: true
  },
  put: { ...group({ create: { ...boolean, default: false } }), isShared: true },
  etag: {
    ...group({
      required: { ...boolean, default: false },
      version: { ...string, default: '' }
    }),
    isShared: true
  },
  cache: { ...valueOrGroup(string, group({ list: string, read: string })), isShared: true, merge: mergeCache },
  formats: { ...array, default: [json], isShared: true, check: checkFormats },
  links: { ...callback, check: checkLinks },
  hooks: group({ beforeValidation: callback, beforeWrite: callback, afterWrite: callback, afterCommit: callback })
} satisfies Record<keyof Options<ObjectSchema>, DefinitionOption>

type AnyOptions = Options<ObjectSchema>

/** The options that have defaults. */
export type CompleteOptions = Required<Pick<AnyOptions, 'actions' | 'routes' | 'formats'>> & {
  readonly unique: ReadonlyArray<string | readonly string[]>
  readonly access: Required<Pick<AccessOptions, 'challenge' | 'trustedOrigins'>>
  /** The names of properties, whatever the type of the item. */
  readonly list: ListOptions<Record<string, unknown>> & {
    readonly limit: Required<LimitOptions>
    readonly offset: boolean
    readonly order: readonly string[]
  }
  readonly put: Required<PutOptions>
  readonly etag: Required<EtagOptions>
}

/** Fills in the defaults. An option that is undefined counts as missing. */
export function addDefaults (options: object): CompleteOptions {
  // The table has a default for each of these.
  return fillTable(optionTable, options) as unknown as CompleteOptions
}

/** Merges the options of a definition into those that it shares with others. */
export function mergeOptions<Own extends object> (shared: object, own: Own): Own {
  return mergeTable(optionTable, shared, own) as Own
}

function mergeTable (table: DefinitionTable, shared: object, own: object): object {
  const merged: Record<string, unknown> = { ...shared }
  for (const [name, value] of Object.entries(own)) {
    if (value === undefined) continue
    const before: unknown = Reflect.get(shared, name)
    const option = Object.hasOwn(table, name) ? table[name] : undefined
    merged[name] = before === undefined || option === undefined ? value : mergeValue(option, before, value)
  }
  return merged
}

function mergeValue ({ group, merge }: DefinitionOption, shared: unknown, own: unknown): unknown {
  if (merge !== undefined) return merge(shared as never, own as never)
  return group !== undefined && isObject(shared) && isObject(own) ? mergeTable(group, shared, own) : own
}

/** For callers without TypeScript. */
export function checkObject (options: unknown, usage: string): void {
  if (isObject(options)) return
  throw new BadOption('(none)', `the options are ${formatValue(options)}. Make them an object, as in ${usage}.`)
}

/** For callers without TypeScript: hooks of the defaults would be lost in a definition that has hooks itself. */
export function checkShared (name: string, shared: object): void {
  const table: DefinitionTable = optionTable
  const names = Object.keys(table).filter((option) => table[option]!.isShared)
  const unknown = Object.keys(shared).find((option) => !names.includes(option))
  if (unknown === undefined) return
  throw new BadOption(name, `the defaults of defineWith() cannot have "${unknown}". Add it to each definition. ` +
    `Available defaults: ${names.join(', ')}.`)
}

/** All options, with those in groups: `id`, `id.property` and so on. docs/definition.md is tested against it. */
export const optionNames: readonly string[] = listNames(optionTable)

/** Features that an app may take for options, with the last segment of their paths. */
const features: Readonly<Record<string, string>> = {
  action: 'action',
  aggregates: 'aggregates',
  bulk: 'bulk',
  idempotency: 'idempotency',
  redirects: 'redirects',
  softDelete: 'soft-delete',
  timeout: 'timeout',
  within: 'within'
}

/** Says where an option belongs that is not one of define(). */
function suggestPlace (option: string): string {
  if (option === 'prefix') return 'Pass it to register: app.register(collection, { ...definition, prefix }). '
  if (Object.hasOwn(features, option)) {
    return `It is a feature: add .with(${option}(...)), from fastify-collections/${features[option]}. `
  }
  const [place] = optionNames.filter((name) => name.endsWith(`.${option}`))
  return place === undefined ? '' : `Use ${place}. `
}

/** Refuses options that do not exist, or have another type. */
export function checkKnownOptions (name: string, options: object): void {
  checkTable(optionTable, options, {
    owner: name,
    suggest: suggestPlace,
    fail (message) {
      throw new BadOption(name, message)
    }
  })
}

function checkActions (name: string, actions: readonly ActionName[]): void {
  const unknown = actions.find((action) => !actionNames.includes(action))
  if (unknown === undefined) return
  throw new BadOption(name, `there is no action "${String(unknown)}". Available actions: ${actionNames.join(', ')}.`)
}

type Routes = NonNullable<AnyOptions['routes']>

function checkRoutes (name: string, routes: Routes): void {
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

/** Shared hooks run first: a definition that sets another option keeps those that refuse callers. */
function mergeRoutes (shared: Routes, own: Routes): Routes {
  const merged: Routes = { ...shared }
  for (const [action, route] of Object.entries(own) as Array<[keyof Routes, RouteOptions | undefined]>) {
    if (route !== undefined) merged[action] = mergeRouteOptions(shared[action] ?? {}, route)
  }
  return merged
}

type Allow = NonNullable<AccessOptions['allow']>

/** A definition that has a rule for all actions replaces the shared rules; otherwise it adds to them. */
function mergeRules (shared: Allow, own: Allow): Allow {
  if (typeof own !== 'object' || own.all !== undefined) return own
  const given = Object.entries(own).filter(([, rule]) => rule !== undefined)
  return { ...toRuleTable(shared), ...Object.fromEntries(given) }
}

function checkLimit (name: string, limit: LimitOptions): void {
  const { default: length, maximum } = addDefaults({ list: { limit } }).list.limit
  if (Number.isInteger(length) && Number.isInteger(maximum) && length >= 1 && length <= maximum) return
  throw new BadOption(name, `list.limit is { default: ${length}, maximum: ${maximum} }. ` +
    'Both must be integers, with 1 <= default <= maximum.')
}

type Cache = NonNullable<AnyOptions['cache']>

/** A single policy is for lists and items. */
export function toCacheGroup (cache: Cache): Exclude<Cache, string> {
  return typeof cache === 'string' ? { list: cache, read: cache } : cache
}

function mergeCache (shared: Cache, own: Cache): Cache {
  if (typeof own === 'string') return own
  const given = Object.entries(own).filter(([, policy]) => policy !== undefined)
  return { ...toCacheGroup(shared), ...Object.fromEntries(given) }
}

function checkFormats (name: string, formats: readonly Format[]): void {
  for (const format of formats as readonly unknown[]) {
    if (isFormat(format)) continue
    throw new BadOption(name, `formats contains ${formatValue(format)}, which is not a format. ` +
      'Import formats and list them, as in formats: [json, hal], ' +
      'with json from fastify-collections and hal from fastify-collections/hal.')
  }
  const reserved = formats.find((format) => format.name === entries.name || format.mediaType === entries.mediaType)
  if (reserved !== undefined) {
    throw new BadOption(name, `formats contains ${formatValue(reserved.name)} with ${reserved.mediaType}, ` +
      'which JSON adds itself. Rename it, or remove it.')
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

function checkLinks (name: string, links: unknown): void {
  if (!types.isAsyncFunction(links)) return
  throw new BadOption(name, 'links is an async function. Make it a function that returns the links, ' +
    'from the item alone.')
}
