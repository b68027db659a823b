import type { AccessContext } from '../access/rules.ts'
import type { Action, Result } from '../action.ts'
import type { Collection } from '../collection.ts'
import { BadSchema } from '../errors.ts'
import type { ItemContent } from '../engine/build.ts'
import { HookError } from '../failure.ts'
import { isObject } from '../http/json-value.ts'
import { Problem, problem } from '../http/problems.ts'
import { wrapStorage } from '../storage/wrap-storage.ts'
import { joinFilters, withScope } from '../storage/filter.ts'
import { describeProblemResponse } from '../openapi/problem.ts'
import type { Request } from '../request/request.ts'
import { checkProperties, compileSchema } from '../schema/checks.ts'
import { getBranches } from '../schema/subschemas.ts'
import type { Context, Filter, Refusal, Storage } from '../storage/contract.ts'
import { getNextTimestamp, getTimestamp } from '../schema/timestamps.ts'
import type { Feature, Host, FeatureProperty } from './feature.ts'

/** The options of `softDelete()`. */
export interface SoftDeleteOptions<Property extends string = string> {
  /** The property that says when the item was deleted: an optional date-time, or a date-time that can be null. */
  property: Property
  /**
   * Who can see deleted items with `?deleted=true`, and restore them.
   *
   * @default no caller
   * @example
   * softDelete({ property: 'deletedAt', allow: ({ caller }) => caller === 'admin' })
   */
  allow?: (context: Pick<AccessContext, 'caller' | 'request'>) => boolean | Promise<boolean>
}

/**
 * DELETE marks the item instead of removing it. Deleted items are left out of lists, and their URI responds with 410.
 *
 * @example
 * define({ name: 'users', schema: User, storage: memory() })
 *   .with(softDelete({ property: 'deletedAt', allow: ({ caller }) => caller === 'admin' }))
 */
export function softDelete<Item extends object = Record<string, unknown>> (
  options: SoftDeleteOptions<FeatureProperty<NoInfer<Item>>>
): Feature<Item> {
  return {
    name: 'soft-delete',
    setup (host) {
      host.checkOptions('softDelete', options, ['property', 'allow'])
      const { property, allow } = options
      const deletion = readOptions(host, property, allow)
      host.markProperty(property, 'readOnly')
      host.wrapStorage('rows', (storage) => {
        deletion.all = storage
        return hideDeleted(storage, property, host.collection.timestamps.updated)
      })
      host.wrapAction('resolve', (next, { at, safe, name }) => {
        const seen = safe && allow !== undefined ? withDeletedOnRequest(next, deletion) : next
        return at === 'item' ? withGone(seen, deletion, name === 'replace') : seen
      })
      if (allow !== undefined) {
        host.addHook('onContent', (content, { before }) => removeMark(content, before, deletion))
        host.addQueryParameter('deleted', {
          on: 'both',
          schema: { type: 'boolean', default: false, description: 'Whether to include deleted items' },
          ofText (text) {
            if (text === 'true') return trueInQueryString
            return text === 'false' ? false : text
          },
          read (_lists, deleted) {
            if (deleted === trueInQueryString) return { features: { deleted: 'true' } }
            return deleted === false ? {} : 'true or false, and true only in the query string'
          }
        })
      }
      host.describe((operation, { at }, { components, isReworded }) => {
        if (at === 'item') operation.responses[410] = describeProblemResponse(components, 410, isReworded)
      })
    }
  }
}

/** Permission is checked before content is read, so `deleted: true` in the content of a QUERY would come too late. */
const trueInQueryString = Symbol('true in the query string')

interface Deletion {
  readonly property: string
  readonly allow: SoftDeleteOptions['allow']
  /** The storage with deleted items. That of the collection does not show them. */
  all: Storage<object>
  /** Whether the property is always present, and null for items that are not deleted. */
  readonly nullable: boolean
}

function readOptions (host: Host, property: string, allow: SoftDeleteOptions['allow']): Deletion {
  const { name, schema, storage } = host.collection
  if (allow !== undefined && typeof allow !== 'function') {
    host.fail(`softDelete: allow is ${JSON.stringify(allow)}. It must be a function.`)
  }
  checkProperties(name, schema, { softDelete: [property] })
  const described = schema.properties[property]!
  const nullable = schema.required?.includes(property) === true
  const isDateTime = [described, ...getBranches(described)].some(({ format }) => format === 'date-time')
  if (!isDateTime || (nullable && compileSchema(name, described)(null) !== undefined)) {
    throw new BadSchema(name, `the property "${property}" says when an item was deleted. ` +
      'Make it Type.Optional(Type.String({ format: \'date-time\' })), ' +
      'or a union of that with Type.Null() whose default is null.')
  }
  host.require('filter', 'softDelete leaves deleted items out of lists')
  return {
    property,
    allow,
    all: storage,
    nullable
  }
}

const maxRetries = 20

/** Wraps the storage: its methods do not find deleted items, and `remove` marks an item instead of removing it. */
function hideDeleted (storage: Storage<object>, property: string, updated: string | undefined): Storage<object> {
  const notDeleted: Filter = { property, is: 'null', value: true }
  const narrow = (context: Context): Context => withScope(joinFilters(context.scope, notDeleted), context)
  const mark = (item: object): object => {
    const now = updated === undefined ? getTimestamp() : getNextTimestamp(Reflect.get(item, updated))
    return { ...item, ...updated !== undefined && { [updated]: now }, [property]: now }
  }
  return wrapStorage<object, object>(storage, (all) => ({
    list: (query, context) => all.list(query, narrow(context)),
    find: (id, context) => all.find(id, narrow(context)),
    insert: (draft, context) => all.insert(draft, context),
    replace: (id, item, expected, context) => all.replace(id, item, expected, narrow(context)),
    async remove (id, expected, context) {
      const attempt = async (): Promise<Refusal | undefined> => {
        const entry = await all.find(id, narrow(context))
        if (entry === undefined) return { refused: 'not-found' }
        if (expected !== undefined && entry.version !== expected) return { refused: 'stale' }
        // The version is always compared, so that an update that came in between is not lost.
        const result = await all.replace(id, mark(entry.item), entry.version, narrow(context))
        return 'refused' in result ? result : undefined
      }
      const retries = expected === undefined ? maxRetries : 0
      let refusal = await attempt()
      for (let retry = 0; refusal?.refused === 'stale' && retry < retries; retry++) refusal = await attempt()
      return refusal
    }
  }))
}

/** A read that includes deleted items if the client requests that and the caller is allowed to see them. */
function withDeletedOnRequest (next: Action, deletion: Deletion): Action {
  return async (collection, request) => {
    if (request.query.deleted !== 'true') return next(collection, request)
    if (!await isCallerAllowed(deletion, request)) {
      return problem('forbidden', { detail: 'The caller is not allowed to see deleted items.' })
    }
    const result = await next(collection, { ...request, storage: deletion.all })
    if (result instanceof Problem) return result
    // The response is for this caller only, whatever the cache policy says.
    return { ...result, fields: { ...result.fields, 'cache-control': 'no-store' } }
  }
}

/** 410 instead of 404 for a deleted item, unless the request restores it. */
function withGone (next: Action, deletion: Deletion, isPut: boolean): Action {
  return async (collection, request) => {
    // A PUT that creates never gets 404, but the id of a deleted item is still in use.
    if (isPut && collection.put.create && await findState(deletion, collection, request) === 'deleted') {
      return restoreOrRefuse(next, deletion, { collection, request })
    }
    const result = await next(collection, request)
    if (!(result instanceof Problem) || result.name !== 'not-found') return result
    if (await findState(deletion, collection, request) === undefined) return result
    return restoreOrRefuse(next, deletion, { collection, request })
  }
}

async function findState (
  deletion: Deletion,
  { id }: Collection,
  { segment, context }: Request
): Promise<'deleted' | 'present' | undefined> {
  const itemId = id.read(segment)
  const entry = itemId === undefined ? undefined : await deletion.all.find(itemId, context)
  if (entry === undefined) return undefined
  return isDeleted(entry.item, deletion) ? 'deleted' : 'present'
}

/** PUT and PATCH can restore an item; everything else gets 410. */
async function restoreOrRefuse (
  next: Action,
  deletion: Deletion,
  { collection, request }: { collection: Collection, request: Request }
): Promise<Result> {
  const restores = request.original.method === 'PUT' || request.original.method === 'PATCH'
  if (!restores || !await isCallerAllowed(deletion, request)) return problem('gone')
  return next(collection, { ...request, storage: deletion.all })
}

/** A write to a deleted item restores it: it takes the mark away, or gets 410. */
function removeMark (content: ItemContent, before: object, deletion: Deletion): ItemContent | Problem {
  const { property, nullable } = deletion
  const { value, base } = content
  if (!isDeleted(before, deletion) || !isObject(value)) return content
  if (isDeleted(value, deletion)) {
    return problem('gone', { detail: `To restore the item, send a PUT, or a PATCH with ${property}: null.` })
  }
  const withoutMark = (item: object): object => {
    const { [property]: mark, ...rest } = item as Record<string, unknown>
    return nullable ? { ...rest, [property]: null } : rest
  }
  return { value: withoutMark(value), base: withoutMark(base) }
}

function isDeleted (item: object, { property }: Deletion): boolean {
  return (Reflect.get(item, property) ?? null) !== null
}

async function isCallerAllowed ({ allow }: Deletion, { caller, original }: Request): Promise<boolean> {
  try {
    return allow !== undefined && await allow({ caller, request: original })
  } catch (error) {
    throw new HookError(error)
  }
}
