import { evaluateRule } from '../engine/access/evaluate.ts'
import { checkRule } from '../engine/access/rules.ts'
import type { Rule } from '../engine/access/rules.ts'
import { BadSchema } from '../errors/errors.ts'
import { formatValue } from '../errors/format-value.ts'
import { getDecision } from '../engine/decisions.ts'
import { changeOperation } from '../engine/operation.ts'
import type { Decide, Find, Operation, ReadContent, Run } from '../engine/operation.ts'
import { HookError } from '../errors/failure.ts'
import { isObject } from '../http/json-value.ts'
import { Problem, problem } from '../http/problems.ts'
import { wrapStorage } from '../storage/wrap-storage.ts'
import { joinFilters, withScope } from '../storage/filter.ts'
import { describeProblemResponse } from '../openapi/problem.ts'
import { checkProperties, compileSchema } from '../schema/checks.ts'
import { hasParameter } from '../query/tree.ts'
import { getBranches } from '../json-schema/subschemas.ts'
import type { Context, Filter, Refusal, Storage } from '../storage/contract.ts'
import { getNextTimestamp, getTimestamp } from '../schema/timestamps.ts'
import type { Feature, Host, FeatureProperty } from '../engine/feature.ts'

/** The options of `softDelete()`. */
export interface SoftDeleteOptions<Property extends string = string> {
  /** The property that says when the item was deleted: an optional date-time, or a date-time that can be null. */
  property: Property
  /**
   * Who can see deleted items with `?deleted=true`, and restore them: a rule, as in `access.allow`.
   *
   * @default no caller
   * @example
   * softDelete({ property: 'deletedAt', allow: ({ caller }) => caller === 'admin' })
   */
  allow?: Rule
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
    keepsEntries: true,
    setup (host) {
      host.checkOptions('softDelete', options, ['property', 'allow'])
      const { property, allow } = options
      const deletion = readOptions(host, property, allow)
      if (deletion.findRefusal !== undefined) host.addHook('onRules', deletion.findRefusal)
      host.markProperty(property, 'readOnly')
      host.wrapRows((storage) => hideDeleted(storage, property, host.collection.timestamps.updated))
      host.wrap('find', (next, { name }) => withGone(next, deletion, canRestore(name)))
      host.wrap('content', (next, { name }) => canRestore(name) ? withoutMark(next, deletion) : next)
      if (allow !== undefined) {
        host.wrap('authorized', (next, { safe }) => safe ? withDeletedOnRequest(next, deletion) : next)
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
      host.describe((operation, { at }, { components }) => {
        if (at === 'item') operation.responses[410] = describeProblemResponse(components, 410)
      })
    }
  }
}

/** Permission is checked before content is read, so `deleted: true` in the content of a QUERY would come too late. */
const trueInQueryString = Symbol('true in the query string')

interface Deletion {
  readonly property: string
  /** Returns the refusal of a caller who may not see deleted items; undefined if it may. */
  readonly findRefusal: Decide | undefined
  /** Whether the property is always present, and null for items that are not deleted. */
  readonly nullable: boolean
}

function readOptions (host: Host, property: string, allow: SoftDeleteOptions['allow']): Deletion {
  const { name, schema, access } = host.collection
  if (typeof property !== 'string') {
    host.fail(`softDelete: property is ${formatValue(property)}. ` +
      'Make it the property that says when an item was deleted, as in softDelete({ property: \'deletedAt\' }).')
  }
  if (allow !== undefined) {
    checkRule(name, allow, { option: 'allow of softDelete', where: '', authenticate: access?.authenticate })
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
  return { property, findRefusal: allow && createRule(allow), nullable }
}

const maxRetries = 20

/** The context of a call to the storage that includes deleted items. */
interface InclusiveContext extends Context {
  readonly includesDeleted: true
}

function includeDeleted (context: Context): InclusiveContext {
  return {
    get signal () { return context.signal },
    scope: context.scope,
    ...context.lock === true && { lock: true },
    includesDeleted: true
  }
}

function includesDeleted (context: Context): context is InclusiveContext {
  return 'includesDeleted' in context
}

/** Wraps the storage: its methods do not find deleted items, and `remove` marks an item instead of removing it. */
function hideDeleted (storage: Storage<object>, property: string, updated: string | undefined): Storage<object> {
  const notDeleted: Filter = { property, is: 'null', value: true }
  const narrow = (context: Context): Context => {
    return includesDeleted(context) ? context : withScope(joinFilters(context.scope, notDeleted), context)
  }
  const mark = (item: object): object => {
    const now = updated === undefined ? getTimestamp() : getNextTimestamp(Reflect.get(item, updated))
    return { ...item, ...updated !== undefined && { [updated]: now }, [property]: now }
  }
  return wrapStorage(storage, (all) => ({
    list: (query, context) => all.list(query, narrow(context)),
    ...all.listBy && {
      listBy: (by, query, context) => all.listBy!(by, query, narrow(context))
    },
    ...all.aggregate && {
      aggregate: (query, context) => all.aggregate!(query, narrow(context))
    },
    find: (id, context) => all.find(id, narrow(context)),
    insert: (draft, context) => all.insert(draft, context),
    // An item of the expected version is the one that was read, deleted or not.
    replace: (id, item, expected, context) => {
      return all.replace(id, item, expected, expected === undefined ? narrow(context) : context)
    },
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
    },
    ...all.insertMany && {
      insertMany: (drafts, context) => all.insertMany!(drafts, context)
    },
    ...all.replaceMany && {
      replaceMany: (replacements, context) => all.replaceMany!(replacements, context),
      async removeMany (entries, context) {
        const replacements = entries.map((before) => ({ before, item: mark(before.item) }))
        const result = await all.replaceMany!(replacements, narrow(context))
        return 'refused' in result ? result : undefined
      }
    }
  }), (filter) => joinFilters(filter, notDeleted))
}

const readKinds: ReadonlySet<string> = new Set(['entry', 'page', 'groups'])

/** A read that includes deleted items if the client requests that and the caller is allowed to see them. */
function withDeletedOnRequest (next: Run, deletion: Deletion): Run {
  return async (operation) => {
    const query = operation.query()
    if (query instanceof Problem) return query
    if (query.features?.deleted !== 'true') return next(operation)
    const refusal = await findRefusal(deletion, operation)
    if (refusal instanceof Problem) return refusal
    if (refusal !== undefined) throw new HookError(refusal)
    const context = includeDeleted(operation.context)
    const outcome = await next(changeOperation(operation, { context }))
    if (outcome instanceof Problem || !readKinds.has(outcome.kind)) return outcome
    // The response is for this caller only, whatever the cache policy says.
    return { ...outcome, isPrivate: true }
  }
}

/** PUT and PATCH can restore an item; everything else gets 410. */
function canRestore (action: string): boolean {
  return action === 'replace' || action === 'update'
}

/** 410 instead of 404 for a deleted item, unless the operation restores it. */
function withGone (next: Find, deletion: Deletion, restores: boolean): Find {
  return async (operation, options) => {
    const context = includesDeleted(options.context) ? options.context : includeDeleted(options.context)
    const found = await next(operation, { ...options, context, isMissing: false })
    if (found === undefined || !('item' in found) || !isDeleted(found.item, deletion)) return found
    if (includesDeleted(options.context)) return found
    return restores && await findRefusal(deletion, operation) === undefined ? found : problem('gone')
  }
}

/** A write to a deleted item restores it: it takes the mark away, or gets 410. */
function withoutMark (next: ReadContent, deletion: Deletion): ReadContent {
  const { property, nullable } = deletion
  const removeMark = (item: object): object => {
    const { [property]: mark, ...rest } = item as Record<string, unknown>
    return nullable ? { ...rest, [property]: null } : rest
  }
  return (operation, before) => {
    const content = next(operation, before)
    if (content instanceof Problem || before === undefined || !isDeleted(before.item, deletion)) return content
    const { value, base } = content
    if (!isObject(value)) return content
    if (isDeleted(value, deletion)) {
      return problem('gone', { detail: `To restore the item, send a PUT, or a PATCH with ${property}: null.` })
    }
    return { ...content, value: removeMark(value), base: base && removeMark(base) }
  }
}

function isDeleted (item: object, { property }: Deletion): boolean {
  return (Reflect.get(item, property) ?? null) !== null
}

/** Only actions that may be about a deleted item call the rule. */
function createRule (allow: Rule): Decide {
  return async (source) => {
    const { action: { name, safe }, caller, request, collection: { access } } = source
    const query = safe ? source.parseQuery() : undefined
    const isRequested = query !== undefined && !(query instanceof Problem) && hasParameter(query, 'deleted')
    if (!canRestore(name) && !isRequested) return notAllowed
    try {
      const refusal = await evaluateRule(allow, access, { caller, action: name, request })
      const isPlain = refusal instanceof Problem && refusal.name === 'forbidden' && refusal.detail === undefined
      // A problem that the rule has thrown has its own text.
      return isPlain ? notAllowed : refusal
    } catch (error) {
      throw new HookError(error)
    }
  }
}

const notAllowed = problem('forbidden', { detail: 'The caller is not allowed to see deleted items.' })

/** Returns the refusal of a caller who may not see deleted items; undefined if it may. */
async function findRefusal (deletion: Deletion, operation: Operation): Promise<unknown> {
  if (operation.isApp) return undefined
  return deletion.findRefusal === undefined ? notAllowed : await getDecision(operation, deletion.findRefusal)
}
