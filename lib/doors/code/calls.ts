import type { FastifyBaseLogger } from 'fastify'
import { getAppAccess, requireAccess } from '../../engine/access/authorize.ts'
import { buildParentFilter, canRelateToParent } from '../../engine/access/parent.ts'
import type { ActionName } from '../../engine/action.ts'
import { withCallTrace } from '../http/trace-action.ts'
import type {
  CallOptions,
  CallQuery,
  CollectionCalls,
  MatchedItems,
  PatchOperation,
  Entry,
  PageOfEntries,
  WriteCallOptions
} from '../../engine/call-types.ts'
import type { Patch } from '../../http/merge-patch.ts'
import type { Collection } from '../../engine/collection.ts'
import { bindAction } from '../../engine/engine.ts'
import { getGrammar } from '../../engine/grammar.ts'
import { actionInfos, toActionInfo, toAggregateInfo, toBulkInfo } from '../../engine/table.ts'
import { changeOperation, getScope, neverAborted, Operation } from '../../engine/operation.ts'
import type { BoundAction, Keyed, ParsedContent } from '../../engine/operation.ts'
import { applyPatch } from '../../engine/patch.ts'
import { render } from '../../engine/rendering.ts'
import type { ItemRendering, ListRendering, OutputRendering, Rendering } from '../../engine/rendering.ts'
import { createCheck } from '../http/preconditions.ts'
import { present } from '../http/presentation.ts'
import { checkOutsideCall, openTransaction, toOpenTransaction, TransactionError } from '../../engine/transaction.ts'
import type { View } from '../../engine/view.ts'
import { HookError, ProblemError, toOuterProblem } from '../../errors/failure.ts'
import type { CallTarget } from '../../errors/failure.ts'
import type { ActionInfo, AggregateAction, BulkAction, CustomAction } from '../../engine/action-info.ts'
import { formatValue } from '../../errors/format-value.ts'
import { Malformed } from '../../formats/format.ts'
import { parseIJson } from '../../formats/i-json.ts'
import { toPointer } from '../../http/json-pointer.ts'
import { joinFilters } from '../../storage/filter.ts'
import { cloneJson, isObject } from '../../http/json-value.ts'
import type { Preferences } from '../../http/prefer.ts'
import { Problem, problem } from '../../http/problems.ts'
import { getPosition } from '../../query/cursor.ts'
import type { ListQuery } from '../../query/list-query.ts'
import { emptyTree, parseQueryObject } from '../../query/parse.ts'
import type { Transaction } from '../../engine/definition.ts'
import { digest } from '../../engine/receipts.ts'
import { refusalToProblem } from '../../engine/refusal.ts'
import { buildEtag } from '../http/representation.ts'
import { validationProblem } from '../../schema/failures.ts'
import type { Filter, Id } from '../../storage/contract.ts'

// Calls from code: what `app.collection(definition)` returns. They are operations of the engine, as HTTP requests are.

/** What the calls of a collection need of the app. */
interface CallHost {
  /** The name of the collection. */
  readonly name: string
  /** Returns the collection as the app serves it. Throws if the app does not serve it. */
  findCollection (): Collection
  readonly log: FastifyBaseLogger
  /** The transaction of all calls. */
  readonly transaction: Transaction | undefined
  /** Whether queries can refer to other collections. */
  readonly hasRelations: boolean
  /** The custom actions, by name. */
  readonly actions: ReadonlyMap<string, CustomAction>
  /** The actions that are about several items. */
  readonly bulk: ReadonlyMap<BulkAction['name'], BulkAction>
  /** The figures over groups of items. */
  readonly aggregate: AggregateAction | undefined
}

/** A call whose caller is authorized. */
interface OpenCall {
  readonly operation: Operation
  /** Returns an entity tag for If-Match. */
  toTag (version: string): string
}

/** Creates the methods of `app.collection(definition)`. */
export function createCalls<Item extends object, Adds> (host: CallHost): CollectionCalls<Item, Adds> {
  const target = { collection: host.name }

  /** Runs an action that leads to an item. */
  async function callForItem (
    action: ActionName,
    options: WriteCallOptions,
    { id, content, query }: CallParts
  ): Promise<Entry<object>> {
    return runCall({ collection: host.name, id }, async () => {
      const call = await openCall(host, actionInfos[action], options, { id, content, query })
      const rendering = await run(call.operation)
      // These actions lead to an item.
      return rendering instanceof Problem ? rendering : toEntry(call, rendering as ItemRendering)
    })
  }

  async function create (item: object, options: CallOptions = {}): Promise<Entry<object>> {
    return callForItem('create', options, { content: item })
  }

  async function read (
    id: Id,
    { expand, ...options }: CallOptions & { readonly expand?: unknown } = {}
  ): Promise<Entry<object>> {
    const query = expand === undefined ? undefined : () => toQuery(host, { expand }, ['expand'])
    return callForItem('read', options, { id, query })
  }

  async function readPage (operation: Operation): Promise<ListRendering> {
    // A list leads to a page.
    return runCall(target, async () => await run(operation) as ListRendering | Problem)
  }

  /** Reads the first page. The caller is authorized once. */
  async function openList (query: CallQuery<Item>, options: CallOptions) {
    const open = await runCall(target, () => {
      return openCall(host, actionInfos.list, options, {
        query: () => toQuery(host, query, queryNames),
        // Without a limit, code reads as many items at a time as clients can.
        defaults: { limit: host.findCollection().lists.limit.maximum }
      })
    })
    return { open, first: await readPage(open.operation) }
  }

  async function * pages (
    query: CallQuery<Item> = {},
    options: CallOptions = {}
  ): AsyncGenerator<PageOfEntries<object>, void> {
    const { open, first } = await withCallTrace(host, 'list', openList)(query, options)
    const readNext = withCallTrace(host, 'list', readPage)
    const { page: { total } } = first
    let rendering = first
    for (;;) {
      const { page: { entries }, next = null } = rendering
      yield { entries: toEntries(open, rendering), next, total }
      if (next === null) return
      options.signal?.throwIfAborted()
      const after = getPosition(entries.at(-1)!, rendering.found!.query.order)
      rendering = await readNext(changeOperation(open.operation, { after }))
    }
  }

  async function * list (query?: CallQuery<Item>, options?: CallOptions): AsyncGenerator<Entry<object>, void> {
    for await (const { entries } of pages(query, options)) yield * entries
  }

  async function replace (id: Id, item: object, options: WriteCallOptions = {}): Promise<Entry<object>> {
    return callForItem('replace', options, { id, content: item })
  }

  async function update (
    id: Id,
    patch: Patch<Item> | readonly PatchOperation[],
    options: WriteCallOptions = {}
  ): Promise<Entry<object>> {
    return callForItem('update', options, { id, content: patch })
  }

  async function remove (id: Id, options: WriteCallOptions = {}): Promise<void> {
    await runCall({ collection: host.name, id }, async () => {
      const { operation } = await openCall(host, actionInfos.remove, options, { id })
      return operation.steps.run(operation)
    })
  }

  async function transaction<Result> (work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    return runWork(host, work)
  }

  const calls: CollectionCalls<object> = {
    create: withCallTrace(host, 'create', create),
    read: withCallTrace(host, 'read', read),
    list,
    pages,
    replace: withCallTrace(host, 'replace', replace),
    update: withCallTrace(host, 'update', update),
    remove: withCallTrace(host, 'remove', remove),
    transaction,
    ...createBulkCalls(host),
    ...createAggregateCall(host),
    ...createActionCalls(host)
  }
  // The functions above do not know the type of the items.
  return calls as unknown as CollectionCalls<Item, Adds>
}

/** Runs a call. A problem that it returns or throws becomes a `ProblemError`. */
async function runCall<Result> (target: CallTarget, work: () => Promise<Result | Problem>): Promise<Result> {
  try {
    const result = await work()
    if (result instanceof Problem) throw result
    return result
  } catch (thrown) {
    const error = thrown instanceof HookError ? thrown.cause : thrown
    if (error instanceof Problem) throw new ProblemError(error, target)
    // Such as that of a timeout.
    const { problem: known } = Object(error) as { problem?: unknown }
    const isRefused = error instanceof ProblemError
    if (known instanceof Problem && !isRefused) throw new ProblemError(known, target, { cause: error })
    // The refused call of a hook or a custom action, which is not about this one.
    if (isRefused) throw new ProblemError(toOuterProblem(error), target, { cause: error })
    throw error
  }
}

/** The methods for several items. */
function createBulkCalls (host: CallHost): Record<string, unknown> {
  const target = { collection: host.name }

  async function createMany (action: ActionInfo, items: unknown, options: CallOptions = {}): Promise<unknown> {
    if (!Array.isArray(items)) throw new TypeError('createMany() takes an array of items.')
    return runCall(target, async () => {
      const call = await openCall(host, action, options, { content: items })
      const rendering = await run(call.operation)
      // An array leads to items.
      return rendering instanceof Problem ? rendering : toEntries(call, rendering as ListRendering)
    })
  }

  async function writeMany (
    action: ActionInfo,
    query: object,
    { patch, options = {} }: { patch?: unknown, options: CallOptions | undefined }
  ): Promise<MatchedItems> {
    return runCall(target, async () => {
      const { operation } = await openCall(host, action, options, {
        content: patch,
        query: () => toQuery(host, query, manyQueryNames),
        prefers: 'representation'
      })
      const rendering = await run(operation)
      // These actions lead to how many items matched, and which.
      return rendering instanceof Problem ? rendering : (rendering as OutputRendering).output as MatchedItems
    })
  }

  const methods: Readonly<Record<BulkAction['name'], (action: ActionInfo) => unknown>> = {
    create (action) {
      const call = withCallTrace(host, 'create', createMany)
      return (items: unknown, options?: CallOptions) => call(action, items, options)
    },
    update (action) {
      const call = withCallTrace(host, 'update', writeMany)
      return (query: object, patch: unknown, options?: CallOptions) => call(action, query, { patch, options })
    },
    remove (action) {
      const call = withCallTrace(host, 'remove', writeMany)
      return (query: object, options?: CallOptions) => call(action, query, { options })
    }
  }
  return Object.fromEntries([...host.bulk.values()].map((bulk) => {
    const action = toBulkInfo(bulk)
    return [action.key, methods[bulk.name](action)]
  }))
}

/** The method for figures over groups of items. */
function createAggregateCall (host: CallHost): Record<string, unknown> {
  const { aggregate } = host
  if (aggregate === undefined) return {}
  const action = toAggregateInfo(aggregate)

  async function callAggregate (query: object = {}, options: CallOptions = {}): Promise<object> {
    return runCall({ collection: host.name }, async () => {
      const { operation } = await openCall(host, action, options, {
        query: () => toQuery(host, query, aggregateQueryNames)
      })
      const rendering = await run(operation)
      // An aggregate leads to an object.
      return rendering instanceof Problem ? rendering : (rendering as OutputRendering).output
    })
  }

  return { aggregate: withCallTrace(host, 'list', callAggregate) }
}

/** The methods for custom actions. */
function createActionCalls (host: CallHost): Record<string, unknown> {
  async function callAction (
    action: ActionInfo,
    { id, input = {}, options = {} }: { id?: Id, input: object | undefined, options: WriteCallOptions | undefined }
  ): Promise<unknown> {
    return runCall({ collection: host.name, id }, async () => {
      const call = await openCall(host, action, options, { id, content: input })
      const rendering = await run(call.operation)
      if (rendering instanceof Problem) return rendering
      if (rendering.kind === 'output') return rendering.output
      return rendering.kind === 'item' ? toEntry(call, rendering) : undefined
    })
  }
  return Object.fromEntries([...host.actions].map(([name, custom]) => {
    const action = toActionInfo(custom)
    const call = withCallTrace(host, name, callAction)
    return [
      name,
      action.at === 'item'
        ? (id: Id, input?: object, options?: WriteCallOptions) => call(action, { id, input, options })
        : (input?: object, options?: WriteCallOptions) => call(action, { input, options })
    ]
  }))
}

interface CallParts {
  readonly id?: Id | undefined
  readonly content?: unknown
  /** Called once the caller is authorized. */
  readonly query?: (() => ParsedContent | Problem) | undefined
  readonly defaults?: ListQuery | undefined
  readonly prefers?: Preferences['return']
}

/** Authorizes the caller, if there is one. Throws if it may not call the action. */
async function openCall (
  host: CallHost,
  action: ActionInfo,
  options: WriteCallOptions,
  { id, content, query, defaults, prefers }: CallParts = {}
): Promise<OpenCall> {
  checkOptions(options)
  const collection = host.findCollection()
  const joined = options.transaction ?? host.transaction
  const transaction = joined && toOpenTransaction(joined)
  if (transaction === undefined) checkOutsideCall(collection)
  const { signal = transaction?.signal ?? neverAborted, ifMatch, idempotencyKey, caller } = options
  signal.throwIfAborted()
  const isApp = !('caller' in options)
  const source = { caller, request: undefined }
  const access = isApp ? getAppAccess(collection) : await requireAccess(collection, action, source)
  const { view } = access
  const presentation = present(collection, view)
  const format = collection.http.formats[0]!
  // Parsed once: the app may change its argument while the call runs.
  const parsed = toContent(view, content, action)
  const takesIds = action.name === 'create' && isApp && !(parsed instanceof Problem)
  const ids = takesIds ? getGivenIds(collection, parsed.value) : undefined
  if (ids instanceof Problem) throw ids
  const given = query?.()
  if (given instanceof Problem) throw given
  const withinParent = isApp ? undefined : createParentFilter(collection, access.parentScope?.filter)
  const scope = joinFilters(getScope(access, undefined), withinParent)
  // Code decides itself whether it needs a precondition.
  const conditions = { headers: { 'if-match': ifMatch }, format, presentation, requiresMatch: false }
  const bound = bindAction(collection, action, { door: 'code', isJoined: transaction !== undefined })
  const keyed = idempotencyKey === undefined
    ? undefined
    : toKeyed(bound, idempotencyKey, [action.key, id, content, given === undefined ? {} : given.value])
  const operation = new Operation(bound, access, {
    input: {
      getKeyed: () => keyed,
      defaults,
      parseQuery: () => given === undefined ? emptyTree : parseQueryObject(getGrammar(collection), given.value),
      parseContent: () => parsed,
      applyPatch: (item) => parsed instanceof Problem ? parsed : applyPatch(view.type, item, parsed.value)
    },
    segment: id === undefined ? '' : String(id),
    ids,
    context: { signal, scope, lock: transaction !== undefined },
    transaction,
    log: host.log,
    request: undefined,
    check: createCheck(action, conditions),
    prefers
  })
  return { operation, toTag: (version) => buildEtag(presentation, version, format) }
}

async function run (operation: Operation): Promise<Rendering | Problem> {
  const outcome = await operation.steps.run(operation)
  if (outcome instanceof Problem) return outcome
  const rendering = render(outcome, operation)
  const isHidden = rendering.kind === 'empty'
    ? rendering.hidesOutput === true
    : 'hasContent' in rendering && !rendering.hasContent
  if (outcome.kind !== 'replayed' || !isHidden) return rendering
  return problem('forbidden', {
    detail: 'An earlier call has done this, and the caller no longer sees all that it returned.'
  })
}

/** Returns an item with its id and its entity tag, which is that of the whole item. */
function toEntry ({ toTag }: OpenCall, rendering: ItemRendering): Entry<object> {
  return {
    id: rendering.entry.id,
    // A copy, which the app may change: the storage or another hook has the same item.
    item: cloneJson(rendering.show()),
    get tag () {
      return toTag(rendering.itemVersion)
    }
  }
}

/** The same for several items. */
function toEntries ({ toTag }: OpenCall, rendering: ListRendering): Array<Entry<object>> {
  return rendering.page.entries.map((entry) => ({
    id: entry.id,
    item: cloneJson(rendering.show(entry)),
    get tag () {
      return toTag(rendering.getItemVersion(entry))
    }
  }))
}

/** Items of a nested collection exist for a caller if their parents do. The call does not name a parent. */
function createParentFilter (collection: Collection, scope: Filter | undefined): Filter | undefined {
  const { name, attached: { parent } } = collection
  if (parent === undefined) return undefined
  if (canRelateToParent(collection, parent)) return buildParentFilter(parent, scope)
  throw new TypeError(`A call for a caller cannot find out which items of ${name} it can read: ` +
    `${name} is nested in ${parent.collection.name}, but their rows cannot be related. Store both in one database, ` +
    'or call as the app itself, without the option caller.')
}

/** Runs the work in a transaction. */
async function runWork<Result> (
  { name, findCollection, transaction: outer }: CallHost,
  work: (transaction: Transaction) => Promise<Result>
): Promise<Result> {
  if (outer !== undefined) return work(outer)
  const collection = findCollection()
  const { storage } = collection
  if (storage.transaction === undefined || !storage.supports.transactions) {
    throw new TransactionError(`Collection ${name}: the storage ${storage.name} has no transactions.`)
  }
  checkOutsideCall(collection)
  const run = () => openTransaction({ collection, storage, progress: undefined }, async (_storage, transaction) => {
    // In an object, since the app may return anything.
    return { result: await transaction.callHook(() => work(transaction)) }
  }, { signal: neverAborted })
  // What the work throws is for its caller, unchanged.
  const done = await run().catch((thrown: unknown) => { throw thrown instanceof HookError ? thrown.cause : thrown })
  if ('result' in done) return done.result
  throw new ProblemError(done instanceof Problem ? done : refusalToProblem(done), { collection: name })
}

const optionNames = new Set(['caller', 'idempotencyKey', 'ifMatch', 'signal', 'transaction'])

/** For callers without TypeScript: a misspelled `caller` would grant everything. */
function checkOptions (options: object): void {
  const unknown = Object.keys(options).find((name) => !optionNames.has(name))
  if (unknown === undefined) return
  throw new TypeError(`A call has no option "${unknown}". Available options: ${[...optionNames].join(', ')}.`)
}

const maxKeyLength = 255

/** Refuses a key that nothing would look at: the call would be done each time. */
function toKeyed ({ collection, action, steps }: BoundAction, key: unknown, requested: readonly unknown[]): Keyed {
  if (typeof key !== 'string' || key === '' || key.length > maxKeyLength) {
    throw new TypeError(`idempotencyKey is ${formatValue(key)}. Make it a text of 1 to ${maxKeyLength} characters.`)
  }
  if (steps.layers.authorized.includes('idempotency')) {
    const fingerprint = digest([JSON.stringify(requested)])
    return { key, place: `calls of ${collection.name}`, fingerprint, headers: {} }
  }
  throw new TypeError(`The action ${action.key} of ${collection.name} takes no idempotencyKey. Calls that would do ` +
    'something else when they are repeated do, outside of a transaction, if the collection has idempotency().')
}

/** Returns a copy of the value as JSON has it, with the checks for content of requests. */
function toJson (value: unknown): { readonly value: unknown } | Problem {
  try {
    return { value: parseIJson(Buffer.from(JSON.stringify(value) ?? '')) }
  } catch (thrown) {
    if (thrown instanceof Malformed) return problem('malformed-content', { detail: thrown.detail })
    throw thrown
  }
}

/** Returns a copy of what the app passes, without properties that are undefined. */
function toContent ({ type }: View, content: unknown, { takes }: ActionInfo): ParsedContent | Problem {
  if (takes === undefined) return { value: undefined }
  const json = toJson(content)
  if (json instanceof Problem || takes !== 'representation') return json
  return type.checkHidden(json.value) ?? json
}

/** The app may choose the id of a new item that the library would generate otherwise: it may import items. */
function getGivenId ({ id: { property, create, read } }: Collection, content: unknown): Id | Problem | undefined {
  const given = isObject(content) && create !== undefined ? content[property] : undefined
  if (given === undefined) return undefined
  const id = read(String(given))
  return id === given ? id : validationProblem([{ pointer: toPointer([property]), message: 'is not a valid id' }])
}

/** The same for one item or several. The problem has the index of the item. */
function getGivenIds (collection: Collection, content: unknown): Array<Id | undefined> | Problem {
  if (!Array.isArray(content)) {
    const id = getGivenId(collection, content)
    return id instanceof Problem ? id : [id]
  }
  const ids: Array<Id | undefined> = []
  for (const [index, item] of content.entries()) {
    const id = getGivenId(collection, item)
    if (id instanceof Problem) {
      const pointer = toPointer([String(index), collection.id.property])
      return validationProblem([{ pointer, message: 'is not a valid id' }])
    }
    ids.push(id)
  }
  return ids
}

const queryNames: readonly string[] = ['filter', 'sort', 'q', 'limit', 'cursor', 'offset', 'count', 'expand']
const manyQueryNames: readonly string[] = ['filter', 'q']
const aggregateQueryNames: readonly string[] = [
  'by', 'count', 'distinct', 'sum', 'avg', 'min', 'max', 'filter', 'q', 'sort', 'limit'
]

/** Returns a copy of what the app passes. */
function toQuery (
  { hasRelations }: CallHost,
  query: object,
  names: readonly string[]
): ParsedContent | Problem {
  const known = hasRelations ? names : names.filter((name) => name !== 'expand')
  const unknown = Object.keys(query).find((name) => !known.includes(name))
  if (unknown !== undefined) {
    throw new TypeError(`A query has no property "${unknown}". Available properties: ${known.join(', ')}.`)
  }
  checkFilters(query)
  return toJson(query)
}

/** Refuses a value that is undefined in a filter, also in one of `expand`: without it, the filter matches more. */
function checkFilters (value: unknown, at: readonly string[] = [], isInFilter = false): void {
  if (typeof value !== 'object' || value === null) return
  for (const [name, given] of Object.entries(value) as Array<[string, unknown]>) {
    const path = [...at, name]
    const inner = isObject(given) && typeof given.toJSON === 'function' ? given.toJSON() as unknown : given
    if (isInFilter && isOmittedInJson(inner)) {
      throw new TypeError(`The query has no value at ${path.join('.')}. Remove the property from the filter ` +
        'if it must not be compared, or use its operator null for items without a value.')
    }
    checkFilters(inner, path, isInFilter || name === 'filter')
  }
}

/** `JSON.stringify()` leaves out properties with these values. */
function isOmittedInJson (value: unknown): boolean {
  return value === undefined || typeof value === 'function' || typeof value === 'symbol'
}
