import { findReader } from '../access/authorize.ts'
import { checkHooks } from '../access/check-hooks.ts'
import { isDefinition, toCollection } from '../collection.ts'
import type { Definition, Related } from '../collection.ts'
import { Unsupported } from '../errors.ts'
import { dependsOnCaller } from '../access/rules.ts'
import { logUnreadable } from '../listing/unreadable.ts'
import { withScope } from '../storage/filter.ts'
import { describeReadItem } from '../openapi/contents.ts'
import type { Request } from '../request/request.ts'
import { readScope } from '../access/scope.ts'
import type { Entry, Id } from '../storage/contract.ts'
import type { Addition } from '../response/selection.ts'
import type { ItemType } from '../schema/item-type.ts'
import { findHidden } from '../access/visible.ts'
import type { Feature, Host, FeatureProperty } from './feature.ts'

/** Another collection, and the property that holds the id of one of its items. */
export interface Relation<Property extends string = string> {
  /** The collection of the related items. */
  collection: Definition
  /** The property that holds the id of the related item. */
  property: Property
}

/** Relations by their name in `?expand=`. */
export type Relations<Property extends string = string> = Readonly<Record<string, Relation<Property>>>

/**
 * Lets clients read related items along with an item or a list: `GET /articles?expand=author`.
 *
 * @example
 * define({ name: 'articles', schema: Article, storage: memory() })
 *   .with(expand({ author: { collection: users, property: 'authorId' } }))
 */
export function expand<Item extends object = Record<string, unknown>> (
  options: Relations<FeatureProperty<NoInfer<Item>>>
): Feature<Item> {
  return {
    name: 'expand',
    setup (host) {
      host.checkOptions('expand', options, Object.keys(Object(options)))
      const relations = readRelations(host, options)
      checkRelations(host, relations)
      const names = Object.keys(relations)
      const getNames = (hidden: ReadonlySet<string> | undefined): string[] => {
        return names.filter((name) => hidden?.has(relations[name]!.property) !== true)
      }
      for (const { property, collection } of Object.values(relations)) host.addRelation(property, collection)
      host.addQueryParameter('expand', {
        on: 'both',
        schema: {
          type: 'array',
          items: { type: 'string', enum: names },
          minItems: 1,
          maxItems: names.length,
          description: 'The related items to include'
        },
        isOffered: (hidden) => getNames(hidden).length > 0,
        ofText: (text) => text.split(','),
        read ({ type: { hidden } }, value) {
          const known = getNames(hidden)
          const isKnown = Array.isArray(value) &&
            value.length > 0 &&
            value.every((name) => known.includes(name as string))
          if (!isKnown) return `relations separated by commas: ${known.join(', ')}`
          const chosen = known.filter((name) => (value as string[]).includes(name))
          return { features: { expand: chosen.join() }, needs: chosen.map((name) => relations[name]!.property) }
        }
      })
      host.addHook('onView', async (entries, { listQuery, request }) => {
        const chosen = listQuery.features?.expand?.split(',')
        return chosen && expandEntries(entries, { relations, chosen, request })
      })
      host.extendReadSchema((schema, components) => ({
        ...schema,
        properties: {
          ...schema.properties,
          ...Object.fromEntries(names.map((name) => {
            return [name, { anyOf: [describeReadItem(components, relations[name]!.collection), { type: 'null' }] }]
          }))
        }
      }))
    }
  }
}

type RelatedCollections = Readonly<Record<string, { readonly collection: Related, readonly property: string }>>

function readRelations (host: Host, options: Relations): RelatedCollections {
  return Object.fromEntries(Object.entries(options).map(([name, relation]) => {
    const { collection, property } = Object(relation) as Relation
    if (!isDefinition(collection)) {
      host.fail(`expand: the relation "${name}" needs the collection that define() returned. ` +
        `Pass it, as in expand({ ${name}: { collection: users, property: 'userId' } }).`)
    }
    return [name, { collection: toCollection(collection), property }]
  }))
}

function checkRelations (host: Host, relations: RelatedCollections): void {
  const { name, schema, actions, routes } = host.collection
  const properties = Object.keys(schema.properties)
  for (const [relation, { collection, property }] of Object.entries(relations)) {
    if (properties.includes(relation)) {
      host.fail(`expand: the relation "${relation}" has the name of a property. Rename the relation.`)
    }
    if (!properties.includes(property)) {
      host.fail(`expand: the relation "${relation}" names the property "${property}", which is not in the schema. ` +
        `Available properties: ${properties.join(', ')}.`)
    }
    if (!collection.actions.has('read')) {
      host.fail(`expand: the relation "${relation}" leads to ${collection.name}, whose items cannot be read. ` +
        'Add "read" to its actions, or remove the relation.')
    }
    if (!collection.storage.supports.filter) {
      const need = `the relation "${relation}" reads several items of ${collection.name} at once`
      throw new Unsupported(name, need, collection.storage.name)
    }
    checkHooks({ name, actions, routes }, collection, `the relation "${relation}"`)
  }
}

/** The related items, by their ids, and their type as the caller sees it. */
interface RelatedEntries {
  readonly type: ItemType
  readonly entries: ReadonlyMap<unknown, Entry<object>>
}

interface Expansion {
  readonly relations: RelatedCollections
  readonly chosen: readonly string[]
  readonly request: Request
}

/** Runs one query for each relation, however many items there are. */
async function expandEntries (
  entries: ReadonlyArray<Entry<object>>,
  { relations, chosen, request }: Expansion
): Promise<Addition> {
  const related = new Map(await Promise.all(chosen.map(async (name) => {
    const { collection, property } = relations[name]!
    const ids = new Set(entries.map(({ item }) => getId(item, property)).filter((id) => id !== undefined))
    return [name, await findRelated(collection, [...ids], request)] as const
  })))
  const find = (name: string, { item }: Entry<object>) => {
    return related.get(name)!.entries.get(Reflect.get(item, relations[name]!.property))
  }
  return {
    dependsOnCaller: chosen.some((name) => dependsOnCaller(relations[name]!.collection.access, 'read')),
    add: (entry) => Object.fromEntries(chosen.map((name) => {
      const found = find(name, entry)
      return [name, found === undefined ? null : related.get(name)!.type.show(found.item)]
    })),
    version: (entry) => chosen.map((name) => {
      const found = find(name, entry)
      if (found === undefined) return `+${name} `
      return `+${name} ${related.get(name)!.type.getVersion(found)}.${relations[name]!.collection.type.digest}`
    }).join('')
  }
}

function getId (item: object, property: string): Id | undefined {
  const id: unknown = Reflect.get(item, property)
  return typeof id === 'string' || typeof id === 'number' ? id : undefined
}

/** Leaves out items that the caller cannot read in the other collection. */
async function findRelated (other: Related, ids: readonly Id[], request: Request): Promise<RelatedEntries> {
  const { context, original } = request
  const reader = ids.length === 0 ? undefined : await findReader(other, original)
  if (reader === undefined) {
    return { type: other.type, entries: new Map() }
  }
  const access = { action: 'read', caller: reader.caller, request: original } as const
  const scope = await readScope(other, access)
  const hidden = await findHidden(other, access)
  const { storage, type: { id: { property } } } = other
  const page = await storage.list({
    filter: { property, is: 'in', value: ids },
    search: undefined,
    order: [{ property, descending: false }],
    after: undefined,
    before: undefined,
    limit: ids.length,
    properties: undefined,
    count: false
  }, withScope(scope?.filter, context))
  logUnreadable(other.name, page, request)
  return {
    type: other.type.hide(hidden),
    entries: new Map(page.entries.map((entry) => [entry.id, entry]))
  }
}
