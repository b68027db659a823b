import type { ActionName } from './action.ts'
import type { ActionInfo, AggregateAction, BulkAction, CustomAction } from './action-info.ts'
import { create, list, read, remove, replace, update } from './actions.ts'
import type { Collection } from './collection.ts'
import { resolveItemQuery, resolveListQuery } from '../query/resolve.ts'

// The ways to call a collection. Each is an entry, which says what doors and OpenAPI need to know.

type Derived = 'takesContent' | 'takesItem' | 'takesPatch'
type Entry = Pick<ActionInfo, 'name' | 'at' | 'methods' | 'run'> & Partial<Omit<ActionInfo, Derived>>

function toInfo (entry: Entry): ActionInfo {
  const { name, at, methods: [method], takes } = entry
  const safe = method === 'GET' || method === 'QUERY'
  return {
    returnsContent: true,
    isVariant: false,
    key: name,
    safe,
    reads: safe,
    rules: [name],
    path: undefined,
    takes: undefined,
    query: undefined,
    resolveQuery: undefined,
    idempotent: true,
    requiresMatch: (general) => general && at === 'item' && !safe,
    ...entry,
    ...describeContent(takes)
  }
}

function describeContent (takes: ActionInfo['takes']): Pick<ActionInfo, Derived> {
  const takesPatch = takes === 'patch' || takes === 'bulkPatch'
  const takesContent = takes !== undefined && takes !== 'parameters'
  return { takesContent, takesPatch, takesItem: takesPatch || takes === 'representation' }
}

/** The six actions. */
export const actionInfos: Readonly<Record<ActionName, ActionInfo>> = {
  list: toInfo({
    name: 'list',
    at: 'collection',
    methods: ['GET', 'HEAD'],
    query: 'list',
    resolveQuery: resolveListQuery,
    run: list
  }),
  create: toInfo({
    name: 'create',
    at: 'collection',
    methods: ['POST'],
    takes: 'representation',
    idempotent: false,
    run: create
  }),
  read: toInfo({
    name: 'read',
    at: 'item',
    methods: ['GET', 'HEAD'],
    query: 'item',
    resolveQuery: resolveItemQuery,
    run: read
  }),
  replace: toInfo({ name: 'replace', at: 'item', methods: ['PUT'], takes: 'representation', run: replace }),
  update: toInfo({ name: 'update', at: 'item', methods: ['PATCH'], takes: 'patch', idempotent: false, run: update }),
  remove: toInfo({ name: 'remove', at: 'item', methods: ['DELETE'], returnsContent: false, run: remove })
}

/** A list whose query is the content of the request: RFC 10008. */
const queryInfo = toInfo({ ...actionInfos.list, key: 'query', methods: ['QUERY'], takes: 'query', isVariant: true })

/** A custom action is a POST. */
export function toActionInfo (custom: CustomAction): ActionInfo {
  const { name, at, safe, idempotent, run } = custom
  const requiresMatch = custom.requiresMatch.bind(custom)
  const info = { name, at, run, safe, idempotent, path: name, requiresMatch, custom }
  return toInfo({ ...info, methods: ['POST'], takes: 'input' })
}

/** One that only reads is a GET as well. */
function toGetInfo (custom: CustomAction): ActionInfo {
  const { name, at, run } = custom
  const key = `${name}.get`
  const info = { key, name, at, run, path: name, custom, isVariant: true }
  return toInfo({ ...info, methods: ['GET', 'HEAD'], takes: 'parameters' })
}

const bulkInfos: Readonly<Record<BulkAction['name'], ActionInfo>> = {
  // Over HTTP, a POST creates one item or several.
  create: { ...actionInfos.create, key: 'createMany', methods: [] },
  update: toInfo({ ...actionInfos.update, key: 'updateMany', takes: 'bulkPatch' }),
  // A repeated one would also remove what matches since.
  remove: { ...actionInfos.remove, key: 'removeMany', idempotent: false, returnsContent: true }
}

/** A write to several items: new ones, or those that match the query, which the caller must be allowed to list. */
export function toBulkInfo (bulk: BulkAction): ActionInfo {
  const info = bulkInfos[bulk.name]
  if (bulk.run === undefined) return { ...info, bulk }
  const rules = [bulk.name, 'list'] as const
  const { query, resolveQuery } = actionInfos.list
  return { ...info, at: 'collection', rules, query, resolveQuery, run: bulk.run, requiresMatch: () => false, bulk }
}

/** Figures over groups of the items of a list. */
export function toAggregateInfo (aggregate: AggregateAction): ActionInfo {
  const { path, run } = aggregate
  const resolveQuery = aggregate.resolveQuery.bind(aggregate)
  return { ...actionInfos.list, key: 'aggregate', path, query: 'groups', resolveQuery, run, aggregate }
}

const tables = new WeakMap<object, readonly ActionInfo[]>()

/** Returns the table of a collection: what it serves, and what code can call beside that. */
export function getTable (collection: Collection): readonly ActionInfo[] {
  let table = tables.get(collection)
  if (table === undefined) tables.set(collection, table = createTable(collection))
  return table
}

/** Returns the actions about one item or a list: each once, in the form that has content or none. */
export function getSingleActions (collection: Collection): ActionInfo[] {
  return getTable(collection).filter(({ bulk, isVariant }) => bulk === undefined && !isVariant)
}

/** The actions at one path: that of the list, that of an item, or one below it. */
export interface TablePlace {
  readonly at: ActionInfo['at']
  /** What follows the path of the list or the item. */
  readonly path: string | undefined
  readonly actions: readonly ActionInfo[]
}

/** Groups actions by their paths. Those of the list and of an item come first, even if they have no actions. */
export function groupByPath (actions: readonly ActionInfo[]): TablePlace[] {
  const places = new Map<string, TablePlace & { readonly actions: ActionInfo[] }>([
    ['collection', { at: 'collection', path: undefined, actions: [] }],
    ['item', { at: 'item', path: undefined, actions: [] }]
  ])
  for (const action of actions) {
    const { at, path } = action
    const key = path === undefined ? at : `${at} ${path}`
    const place = places.get(key) ?? { at, path, actions: [] }
    place.actions.push(action)
    places.set(key, place)
  }
  return [...places.values()]
}

function createTable ({ actions, attached }: Collection): ActionInfo[] {
  const served = Object.values(actionInfos).filter(({ name }) => (actions as ReadonlySet<string>).has(name))
  const { aggregate } = attached
  return [
    ...served.flatMap((info) => info.name === 'list' ? [info, queryInfo] : [info]),
    ...[...attached.bulk.values()].map(toBulkInfo),
    ...aggregate === undefined ? [] : [toAggregateInfo(aggregate)],
    ...[...attached.actions.values()].flatMap((custom) => {
      return custom.readQuery === undefined ? [toActionInfo(custom)] : [toGetInfo(custom), toActionInfo(custom)]
    })
  ]
}
