import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyBaseLogger } from 'fastify'
import { authorizeCall, isCallAllowed } from '../access/authorize.ts'
import type { AnyActionName } from '../action.ts'
import { decideReplace } from '../actions/replace.ts'
import { decideUpdate } from '../actions/update.ts'
import { withCallTrace } from '../actions/trace-action.ts'
import type {
  CallOptions,
  CallQuery,
  CollectionCalls,
  PatchOperation,
  StoredItem,
  StoredPage,
  WriteCallOptions
} from './types.ts'
import type { Patch } from '../client/types.ts'
import type { Collection } from '../collection.ts'
import { HookError, ProblemError, toOuterProblem } from '../failure.ts'
import type { CallTarget } from '../failure.ts'
import type { CustomAction } from '../features/feature.ts'
import { Malformed } from '../formats/format.ts'
import { parseIJson } from '../formats/i-json.ts'
import { toPointer } from '../http/json-pointer.ts'
import { isObject } from '../http/json-value.ts'
import { Problem, problem } from '../http/problems.ts'
import { commitCreate, commitRemove, commitWrite } from '../engine/commit.ts'
import type { ItemWrite, WriteResult } from '../engine/commit.ts'
import { buildItem } from '../engine/build.ts'
import { dependsOnItem } from '../engine/preconditions.ts'
import { getAppView, getView } from '../engine/view.ts'
import type { View } from '../engine/view.ts'
import { checkOutsideCall, openTransaction, toOpenTransaction, TransactionError } from '../engine/transaction.ts'
import { getPosition } from '../listing/cursor.ts'
import { toIncomparableProblem } from '../listing/entries.ts'
import { toStorageQuery } from '../listing/list-query.ts'
import { parseQueryContent } from '../listing/query-content.ts'
import { logUnreadable } from '../listing/unreadable.ts'
import type { Transaction } from '../options.ts'
import { neverAborted } from '../request/request.ts'
import type { Call } from '../request/request.ts'
import { refusalToProblem } from '../response/refusal.ts'
import { buildEtag } from '../response/representation.ts'
import { noContent } from '../response/response.ts'
import { validationProblem } from '../schema/failures.ts'
import type { Entry, Id, Page, Query } from '../storage/contract.ts'

// Calls from code: what `app.collection(definition)` returns. They do what the actions do, without HTTP.

/** What the calls of a collection need of the app. */
interface CallHost {
  /** The name of the collection. */
  readonly name: string
  /** Returns the collection as the app serves it. Throws if the app does not serve it. */
  findCollection (): Collection
  readonly log: FastifyBaseLogger
  /** The transaction of all calls. */
  readonly transaction: Transaction | undefined
  /** The custom actions, by name. */
  readonly actions: ReadonlyMap<string, CustomAction>
}

/** A call whose caller is authorized. */
interface OpenCall {
  readonly collection: Collection
  readonly call: Call
  toStored (entry: Entry<object>): StoredItem<object>
}

/** Creates the methods of `app.collection(definition)`. */
export function createCalls<Item extends object, Adds> (host: CallHost): CollectionCalls<Item, Adds> {
  const target = { collection: host.name }

  async function create (item: object, options: CallOptions = {}): Promise<StoredItem<object>> {
    return runCall(target, async () => {
      const { collection, call, toStored } = await openCall(host, 'create', options)
      const content = toContent(call.view, item)
      if (content instanceof Problem) return content
      const id = 'caller' in options ? undefined : getGivenId(collection, content)
      if (id instanceof Problem) return id
      const built = await buildItem(collection, call, { kind: 'create', content, id })
      if (built instanceof Problem) return built
      return captureWrite(toStored, (respond) => commitCreate(collection, call, { item: built, respond }))
    })
  }

  async function read (id: Id, options: CallOptions = {}): Promise<StoredItem<object>> {
    return runCall({ ...target, id }, async () => {
      const { collection, call, toStored } = await openCall(host, 'read', options)
      const known = collection.id.read(String(id))
      const entry = known === undefined ? undefined : await call.storage.find(known, call.context)
      if (entry !== undefined) call.transaction?.deleteListed(collection, entry.id)
      return entry === undefined ? problem('not-found') : toStored(entry)
    })
  }

  /** Reads the first page. */
  async function openList (query: CallQuery<Item>, options: CallOptions) {
    const open = await runCall(target, () => openCall(host, 'list', options))
    const first = await runCall(target, async () => parseQuery(open, query))
    return { open, first, page: await readPage(open, first) }
  }

  async function * pages (
    query: CallQuery<Item> = {},
    options: CallOptions = {}
  ): AsyncGenerator<StoredPage<object>, void> {
    const { open, first, page: firstPage } = await withCallTrace(host, 'list', openList)(query, options)
    const readNext = withCallTrace(host, 'list', readPage)
    const { total } = firstPage
    let page = firstPage
    for (;;) {
      yield { entries: page.entries.map(open.toStored), total }
      const last = page.entries.at(-1)
      if (!page.more || last === undefined) return
      options.signal?.throwIfAborted()
      // The items are counted once.
      page = await readNext(open, { ...first, after: getPosition(last.item, first.order), count: false })
    }
  }

  async function * list (query?: CallQuery<Item>, options?: CallOptions): AsyncGenerator<StoredItem<object>, void> {
    for await (const { entries } of pages(query, options)) yield * entries
  }

  async function replace (id: Id, item: object, options: WriteCallOptions = {}): Promise<StoredItem<object>> {
    return runCall({ ...target, id }, async () => {
      const { collection, call, toStored } = await openCall(host, 'replace', options, { id })
      const canCreate = collection.put.create &&
        (!('caller' in options) || await isCallAllowed(collection, 'create', options.caller))
      const content = toContent(call.view, item)
      const parsed = content instanceof Problem ? content : { value: content }
      const decide = decideReplace(collection, { ...call, parsed }, canCreate)
      return writeItem({ collection, call, toStored }, 'replace', decide)
    })
  }

  async function update (
    id: Id,
    patch: Patch<Item> | readonly PatchOperation[],
    options: WriteCallOptions = {}
  ): Promise<StoredItem<object>> {
    return runCall({ ...target, id }, async () => {
      const type = Array.isArray(patch) ? 'application/json-patch+json' : 'application/merge-patch+json'
      const content = Buffer.from(JSON.stringify(patch))
      const open = await openCall(host, 'update', options, { id, fields: { 'content-type': type }, content })
      return writeItem(open, 'update', decideUpdate(open.collection, open.call))
    })
  }

  async function remove (id: Id, options: WriteCallOptions = {}): Promise<void> {
    await runCall({ ...target, id }, async () => {
      const { collection, call } = await openCall(host, 'remove', options, { id })
      return commitRemove(collection, call, { needsItem: dependsOnItem(call), respond: () => noContent() })
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
    ...createActionCalls(host)
  }
  // The functions above do not know the type of the items.
  return calls as unknown as CollectionCalls<Item, Adds>
}

async function readPage ({ collection, call }: OpenCall, query: Query): Promise<Page<object>> {
  const page: Page<object> = await runCall({ collection: collection.name }, () => {
    return call.storage.list(query, call.context).catch(toIncomparableProblem)
  })
  logUnreadable(collection.name, page, call)
  call.transaction?.addListed(collection, page.entries)
  return page
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
    // The refused call of a hook or a custom action, which is not about this one.
    if (error instanceof ProblemError) throw new ProblemError(toOuterProblem(error), target, { cause: error })
    throw error
  }
}

/** The methods for custom actions. */
function createActionCalls (host: CallHost): Record<string, unknown> {
  async function callAction (
    action: CustomAction,
    { id, input = {}, options = {} }: { id?: Id, input: object | undefined, options: WriteCallOptions | undefined }
  ): Promise<unknown> {
    return runCall({ collection: host.name, id }, async () => {
      const parsed = toJson(input)
      const parts = { id, customAction: action.name }
      const { collection, call, toStored } = await openCall(host, action.name, options, parts)
      const result = await action.call(collection, { ...call, parsed })
      if (result instanceof Problem) return result
      return result.output ?? (result.after && toStored(result.after))
    })
  }
  return Object.fromEntries([...host.actions].map(([name, action]) => {
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
  readonly customAction?: string
  readonly fields?: IncomingHttpHeaders
  readonly content?: Buffer
}

/** Authorizes the caller, if there is one. Throws if it may not call the action. */
async function openCall (
  host: CallHost,
  action: AnyActionName,
  options: WriteCallOptions,
  { id, customAction, fields, content }: CallParts = {}
): Promise<OpenCall> {
  checkOptions(options)
  const served = host.findCollection()
  const given = options.transaction ?? host.transaction
  const transaction = given && toOpenTransaction(given)
  if (transaction === undefined) checkOutsideCall(served)
  const { signal = transaction?.signal ?? neverAborted, ifMatch } = options
  signal.throwIfAborted()
  const isApp = !('caller' in options)
  const access = isApp ? undefined : await authorizeCall(served, action, options.caller)
  const view = isApp ? getAppView(served) : getView(served, access?.hidden)
  const presentation = view.present()
  const [format] = served.formats
  const call: Call = {
    path: '',
    customAction,
    search: '',
    segment: id === undefined ? '' : String(id),
    fixed: undefined,
    query: {},
    fields: { ...fields, ...ifMatch !== undefined && { 'if-match': ifMatch } },
    content,
    format: format!,
    view,
    presentation,
    storage: transaction?.join(served) ?? served.storage,
    // Code decides itself whether it needs a precondition.
    requiresMatch: false,
    preferences: {},
    context: { signal, scope: access?.scope?.filter, ...transaction && { lock: true }, abort () {} },
    ...transaction && { transaction },
    caller: options.caller,
    scope: access?.scope,
    log: host.log,
    original: undefined
  }
  const toStored = (entry: Entry<object>): StoredItem<object> => ({
    id: entry.id,
    item: isApp ? entry.item : view.type.show(entry.item),
    get tag () {
      return buildEtag(presentation, view.type.getVersion(entry), format!)
    }
  })
  return { collection: served, call, toStored }
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
  const run = () => openTransaction({ collection, storage }, async (_storage, transaction) => {
    // In an object, since the app may return anything.
    return { result: await transaction.callHook(() => work(transaction)) }
  }, { signal: neverAborted })
  // What the work throws is for its caller, unchanged.
  const done = await run().catch((thrown: unknown) => { throw thrown instanceof HookError ? thrown.cause : thrown })
  if ('result' in done) return done.result
  throw new ProblemError(done instanceof Problem ? done : refusalToProblem(done), { collection: name })
}

const optionNames = new Set(['caller', 'ifMatch', 'signal', 'transaction'])

/** For callers without TypeScript: a misspelled `caller` would grant everything. */
function checkOptions (options: object): void {
  const unknown = Object.keys(options).find((name) => !optionNames.has(name))
  if (unknown === undefined) return
  throw new TypeError(`A call has no option "${unknown}". Available options: ${[...optionNames].join(', ')}.`)
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

/** Returns a copy of the item, without properties that are undefined. */
function toContent ({ type }: View, item: object): unknown {
  const json = toJson(item)
  if (json instanceof Problem) return json
  return type.checkHidden(json.value) ?? json.value
}

/** The app may choose the id of a new item that the library would generate otherwise: it may import items. */
function getGivenId ({ id: { property, create, read } }: Collection, content: unknown): Id | Problem | undefined {
  const given = isObject(content) && create !== undefined ? content[property] : undefined
  if (given === undefined) return undefined
  const id = read(String(given))
  return id === given ? id : validationProblem([{ pointer: toPointer([property]), message: 'is not a valid id' }])
}

const queryNames = new Set(['filter', 'sort', 'q', 'limit', 'count'])

function parseQuery ({ collection, call }: OpenCall, query: object): Query | Problem {
  const unknown = Object.keys(query).find((name) => !queryNames.has(name))
  if (unknown !== undefined) {
    throw new TypeError(`A query has no property "${unknown}". Available properties: ${[...queryNames].join(', ')}.`)
  }
  const json = toJson(query)
  if (json instanceof Problem) return json
  const { lists } = call.view
  const listQuery = parseQueryContent(lists, json.value)
  if (listQuery instanceof Problem) return listQuery
  // Code reads as many items at a time as clients can.
  return toStorageQuery(lists, { limit: collection.lists.limit.maximum, ...listQuery })
}

function writeItem (
  { collection, call, toStored }: OpenCall,
  action: ItemWrite['action'],
  decide: ItemWrite['decide']
): Promise<StoredItem<object> | Problem> {
  return captureWrite(toStored, (respond) => commitWrite(collection, call, { action, decide, respond }))
}

/** Commits a write, and returns what was written instead of a response. */
async function captureWrite (
  toStored: OpenCall['toStored'],
  commit: (respond: ItemWrite['respond']) => Promise<unknown>
): Promise<StoredItem<object> | Problem> {
  let written: WriteResult | undefined
  const result = await commit((done) => {
    written = done
    return noContent()
  })
  return result instanceof Problem ? result : toStored(written!.after)
}
