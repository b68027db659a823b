import { canRelateToParent } from '../engine/access/parent.ts'
import { checkHooks } from '../engine/access/check-hooks.ts'
import { toCollection, isDefinition } from '../engine/collection.ts'
import type { Collection } from '../engine/collection.ts'
import { BadOption } from '../errors/errors.ts'
import { formatValue } from '../errors/format-value.ts'
import type { Host, Relation } from '../engine/feature.ts'
import { isStringArray } from '../http/json-value.ts'
import { toTotalOrder } from '../query/selection.ts'
import { getBranches } from '../json-schema/subschemas.ts'
import type { Id, JsonSchema, Order, Storage } from '../storage/contract.ts'
import type { Definitions } from '../engine/relation-types.ts'

/** A relation, as `relate()` is called with it. */
export interface RelationOptions {
  /** The name of the other collection among those that are related. */
  readonly to: string
  /** The property of this collection that holds the id of an item of the other one. */
  readonly property?: string
  /** The property of the other collection that holds the id of an item of this one. */
  readonly by?: string
  /** How many items of the other collection are included by default. */
  readonly limit?: number
  /** In which order they are included by default, as in `sort`. */
  readonly order?: readonly string[]
  /** Whether the related item has to exist, and cannot be removed. */
  readonly references?: boolean
  /** Whether lists can be filtered by the relation. */
  readonly filter?: boolean
  /** Whether lists can be sorted by properties of the related item. */
  readonly sort?: boolean
}

/** Relations by the names of collections, and then by their own. */
export type GivenRelations = Readonly<Record<string, Readonly<Record<string, RelationOptions>>>>

const optionNames = ['to', 'property', 'by', 'limit', 'order', 'filter', 'sort', 'references']

/** Reads the relations of one of the definitions. Mistakes stop the start of the app. */
export function readRelations (
  host: Host,
  definitions: Definitions,
  given: Readonly<Record<string, RelationOptions>>
): ReadonlyMap<string, Relation> {
  return new Map(Object.entries(given).map(([name, options]) => {
    host.checkOptions(`relate: the relation "${name}"`, options, optionNames)
    checkName(host, name)
    return [name, readRelation(host, definitions, { name, options })]
  }))
}

/** Names that have a meaning in filters, in `expand` and in objects. */
const reservedNames = new Set(['all', 'any', 'not', 'some', 'none', 'count', 'expand', '__proto__'])

function checkName (host: Host, name: string): void {
  const { properties } = host.collection.schema
  if (Object.hasOwn(properties, name)) {
    host.fail(`relate: the relation "${name}" has the name of a property. Rename the relation.`)
  }
  if (!/^[A-Za-z_]\w*$/.test(name) || reservedNames.has(name)) {
    host.fail(`relate: a relation cannot have the name ${formatValue(name)}. ` +
      `Use letters, digits and "_", and none of ${[...reservedNames].join(', ')}.`)
  }
}

interface NamedOptions {
  readonly name: string
  readonly options: RelationOptions
}

function readRelation (host: Host, definitions: Definitions, { name, options }: NamedOptions): Relation {
  const { to, property, by, limit, order } = options
  const fail = (message: string): never => host.fail(`relate: the relation "${name}" ${message}`)
  if (typeof to !== 'string') {
    fail(`has to: ${formatValue(to)}. Name the definition, as in to: "${Object.keys(definitions)[0]}".`)
  }
  const definition = Object.hasOwn(definitions, to) ? definitions[to] : undefined
  if (definition === undefined || !isDefinition(definition)) {
    return fail(`leads to ${formatValue(to)}, but relate() got no definition of that name. ` +
      `Use one of ${Object.keys(definitions).join(', ')}.`)
  }
  if ((property === undefined) === (by === undefined)) {
    fail('needs either property, for one related item, or by, for several.')
  }
  const target = toCollection(definition)
  const { id, schema, storage } = host.collection
  const isMany = by !== undefined
  checkProperty(fail, isMany
    ? { option: 'by', property: by, owner: target }
    : { option: 'property', property: property!, owner: host.collection })
  checkTypes(fail, isMany
    ? { key: { schema: target.schema, name: by }, id: { schema, name: id.property } }
    : { key: { schema, name: property! }, id: { schema: target.schema, name: target.id.property } })
  checkTarget(host, target, { name, isMany })
  if (!isMany && (limit !== undefined || order !== undefined)) {
    fail('leads to one item. Remove limit and order, or use by instead of property.')
  }
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit >= 0 && limit <= target.lists.limit.maximum)) {
    fail(`has the limit ${formatValue(limit)}. ` +
      `Make it a whole number from 0 to ${target.lists.limit.maximum}, the maximum of ${to}.`)
  }
  for (const option of ['filter', 'sort', 'references'] as const) {
    const value = options[option]
    if (value !== undefined && typeof value !== 'boolean') {
      fail(`has ${option}: ${formatValue(value)}. Make it true or false.`)
    }
  }
  const isOneDatabase = storage.database !== undefined && storage.database === target.storage.database
  const canRelate = isOneDatabase && storage.supports.relations === true
  for (const option of ['filter', 'sort'] as const) {
    if (options[option] !== true) continue
    if (option === 'sort' && isMany) fail('leads to several items, so lists cannot be sorted by it. Remove sort.')
    if (!canRelate) {
      fail(`cannot be used to ${option}, because ` +
        (isOneDatabase ? `the storage ${storage.name} does not relate rows. ` : `${to} is in another database. `) +
        `Remove ${option}: related items can still be included.`)
    }
  }
  if (options.references === true) checkReferences(fail, { isMany, isOneDatabase, storage, to })
  if (isMany && target.storage.listBy === undefined) {
    fail(`includes several items of ${to}, but its storage ${target.storage.name} has no method listBy. ` +
      'Use another storage, or remove the relation.')
  }
  return {
    name,
    to,
    isMany,
    property: property ?? id.property,
    equals: by ?? target.id.property,
    limit: isMany ? limit ?? Math.min(defaultLimit, target.lists.limit.maximum) : undefined,
    order: order === undefined ? undefined : readOrder(fail, target, order),
    references: options.references === true,
    canFilter: canRelate && options.filter !== false,
    canSort: canRelate && !isMany && options.sort !== false,
    target,
    findTarget: ({ findServed }) => findServed?.(target.baseStorage) ??
      fail(`leads to ${to}, which the app does not serve. Register it: app.register(collection, ${to}).`)
  }
}

const defaultLimit = 10

interface Referring {
  readonly isMany: boolean
  readonly isOneDatabase: boolean
  readonly storage: Storage<object>
  readonly to: string
}

function checkReferences (
  fail: (message: string) => never,
  { isMany, isOneDatabase, storage, to }: Referring
): void {
  if (isMany) fail(`has references, but leads to several items. Add references to the relation of ${to} instead.`)
  if (!isOneDatabase) fail(`has references, but ${to} is in another database. Remove references.`)
  if (!storage.supports.transactions) {
    fail(`has references, but the storage ${storage.name} has no transactions. Remove references.`)
  }
}

/** The property that holds the id of another item. */
interface Reference {
  readonly option: 'property' | 'by'
  readonly property: string
  readonly owner: Pick<Collection, 'name' | 'schema'>
}

function checkProperty (fail: (message: string) => never, { option, property, owner }: Reference): void {
  const properties = Object.keys(owner.schema.properties ?? {})
  if (properties.includes(property)) return
  fail(`has ${option}: ${formatValue(property)}, which is not in the schema of ${owner.name}. ` +
    `Available properties: ${properties.join(', ')}.`)
}

interface Property {
  readonly schema: JsonSchema
  readonly name: string
}

/** An id that is text never equals one that is a number. */
function checkTypes (
  fail: (message: string) => never,
  { key, id }: { readonly key: Property, readonly id: Property }
): void {
  const keyTypes = getTypes(key)
  const idTypes = getTypes(id)
  if (keyTypes.some((type) => idTypes.includes(type))) return
  fail(`compares "${key.name}" (${keyTypes.join(' or ')}) with the id "${id.name}" (${idTypes.join(' or ')}). ` +
    'Give both the same type.')
}

function getTypes ({ schema: { properties }, name }: Property): string[] {
  const schema = properties![name]!
  const types = [schema, ...getBranches(schema)].flatMap(({ type, const: value }) => {
    return type ?? (value === undefined ? [] : typeof value)
  })
  return [...new Set(types.map((type) => type === 'number' ? 'integer' : type))].filter((type) => type !== 'null')
}

function checkTarget (
  host: Host,
  target: Collection,
  { name, isMany }: { readonly name: string, readonly isMany: boolean }
): void {
  const action = isMany ? 'list' : 'read'
  if (!target.actions.has(action)) {
    host.fail(`relate: the relation "${name}" leads to ${target.name}, which does not have the action "${action}". ` +
      'Add it to its actions, or remove the relation.')
  }
  if (!target.storage.supports.filter) {
    host.fail(`relate: the relation "${name}" reads several items of ${target.name} at once, ` +
      `but its storage ${target.storage.name} has no filters. Use another storage, or remove the relation.`)
  }
}

function readOrder (
  fail: (message: string) => never,
  { lists: { sortable }, id: { property }, name }: Collection,
  order: readonly string[]
): readonly Order[] {
  if (!isStringArray(order)) {
    fail(`has the order ${formatValue(order)}. Make it an array of properties, as in order: ['-${property}'].`)
  }
  const unknown = order.find((key) => !sortable.has(key.replace(/^-/, '')))
  if (unknown !== undefined) {
    fail(`has the order ${formatValue(unknown)}. ${name} can be sorted by: ${[...sortable.keys()].join(', ')}.`)
  }
  return toTotalOrder(order, property)
}

/** What can only be checked when all collections are registered. */
export function checkRelations (collection: Collection): void {
  for (const relation of collection.attached.relations.values()) {
    const { collection: target } = relation.findTarget(collection.app)
    const action = relation.isMany ? 'list' : 'read'
    checkHooks(collection, target, { what: `the relation "${relation.name}"`, action })
    checkParent(relation, target)
    checkReadable(relation, collection, target)
    checkFilterable(relation, target)
  }
}

/** Whether the caller can see the parent of a nested item is part of each statement. */
function checkParent ({ name, to }: Relation, target: Collection): void {
  const { name: owner, attached: { parent } } = target
  if (parent === undefined || canRelateToParent(target, parent)) return
  throw new BadOption(owner, `the relation "${name}" leads to ${to}, which is nested in ${parent.collection.name}, ` +
    'but their rows cannot be related. Store both in one database, or remove the relation.')
}

/** What is included, and which items a filter finds, would reveal the values. */
function checkReadable ({ name, isMany, property, equals }: Relation, source: Collection, target: Collection): void {
  const [owner, key] = isMany ? [target, equals] : [source, property]
  if (owner.type.properties.named.get(key)?.writeOnly !== true) return
  throw new BadOption(source.name, `the relation "${name}" would reveal "${key}" of ${owner.name}, ` +
    'which is writeOnly. Remove writeOnly from the property, or remove the relation.')
}

/** The URL that continues an included list filters by the property, unless the path names the parent. */
function checkFilterable (
  { name, isMany, equals, to }: Relation,
  { lists, attached: { parent }, name: target }: Collection
): void {
  if (!isMany || parent?.property === equals || lists.filterable.has(equals)) return
  throw new BadOption(target, `the relation "${name}" leads to ${to}, whose lists cannot be filtered by "${equals}". ` +
    `Add it to list.filter of ${to}.`)
}

/** Returns the id that a property holds; undefined if it refers to no item. */
export function readId (item: object, property: string): Id | undefined {
  const value = (item as Record<string, unknown>)[property]
  return typeof value === 'string' || typeof value === 'number' ? value : undefined
}
