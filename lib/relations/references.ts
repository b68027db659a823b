import { getRequestHooks } from '../engine/access/check-hooks.ts'
import type { Collection } from '../engine/collection.ts'
import { getDecision } from '../engine/decisions.ts'
import { changeOperation } from '../engine/operation.ts'
import type { ChangeRefusal, Decide, ItemChange, Operation, Run, Write, WriteOptions } from '../engine/operation.ts'
import type { Relation } from '../engine/feature.ts'
import { Problem, problem } from '../http/problems.ts'
import { refusalToProblem } from '../engine/refusal.ts'
import { joinFilters, withScope } from '../storage/filter.ts'
import { matches } from '../storage/matching.ts'
import { toBaseRows } from '../storage/related.ts'
import type { Context, Entry, Id, ItemFilter, Referrer, Storage } from '../storage/contract.ts'
import { RelationAccess } from './caller-relations.ts'
import { readId } from './relation.ts'

// With `references: true`, the item that a property refers to has to exist for the caller, and an item that others
// refer to cannot be removed. Both lock the item that is referred to, so that no other transaction comes in between.
// Several transactions can refer to it at the same time.

/** A property of another collection, or of the same one, that refers to items of this one. */
export interface IncomingReference extends Referrer {
  /** Finds the other collection as the app serves it. */
  findSource (collection: Collection): Collection
}

type ReadableTargets = NonNullable<Operation['readableTargets']>

/** Calls the rules about what the caller can refer to. They must not wait for the transaction of the write. */
export function createTargetRules (references: readonly Relation[]): Decide<ReadableTargets> {
  return async (source) => {
    const access = new RelationAccess(source)
    const targets = new Map<object, Awaited<ReturnType<RelationAccess['readRows']>>>()
    if (source.action.safe) return targets
    for (const relation of references) {
      const target = relation.findTarget(source.collection.app).collection
      targets.set(target, await access.readRows(target, 'read'))
    }
    return targets
  }
}

/** Passes on what the caller can refer to. */
export function withReadableTargets (next: Run, decide: Decide<ReadableTargets>): Run {
  return async (operation) => {
    return next(changeOperation(operation, { readableTargets: await getDecision(operation, decide) }))
  }
}

/** Refuses writes that refer to an item that does not exist for the caller. */
export function withTargetCheck (next: Write, references: readonly Relation[]): Write {
  return async (operation, changes, options) => {
    const check = new TargetCheck(operation, options)
    const refused = await check.run(references, changes)
    if (refused !== undefined) return refused
    const written = await next(operation, changes, options)
    if (written instanceof Problem || 'refused' in written) return written
    // The hook beforeWrite may have changed what an item refers to.
    const stored = written.map((entry, index) => ({ before: changes[index]!.before, item: entry?.item }))
    return await check.run(references, stored) ?? written
  }
}

type Referring = Pick<ItemChange, 'before' | 'item'>

/** Checks the references of one write. */
class TargetCheck {
  readonly #operation: Operation
  readonly #options: WriteOptions
  /** The items that exist, by relation. They are locked. */
  readonly #found = new Map<Relation, Set<unknown>>()

  constructor (operation: Operation, options: WriteOptions) {
    this.#operation = operation
    this.#options = options
  }

  /** Refuses all changes that refer to something that does not exist, each with all such properties. */
  async run (references: readonly Relation[], changes: readonly Referring[]): Promise<ChangeRefusal | undefined> {
    const missing = changes.map(() => new Set<string>())
    for (const relation of references) {
      for (const index of await this.#findMissing(relation, changes)) missing[index]!.add(relation.property)
    }
    const [first, ...others] = missing.flatMap((properties, index): ChangeRefusal[] => {
      return properties.size === 0 ? [] : [{ refused: 'missing-target', properties: [...properties], index }]
    })
    return first && { ...first, others }
  }

  /** Returns the indexes of the changes that refer to an item that does not exist. */
  async #findMissing (relation: Relation, changes: readonly Referring[]): Promise<number[]> {
    const { property } = relation
    const { collection } = this.#operation
    const known = this.#found.get(relation) ?? new Set()
    this.#found.set(relation, known)
    const wanted = changes.map(({ before, item }) => {
      const id = item && readId(item, property)
      const previous = before && existed(collection, before.item) ? readId(before.item, property) : undefined
      return id === previous || known.has(id) ? undefined : id
    })
    const ids = [...new Set(wanted)].filter((id) => id !== undefined)
    if (ids.length === 0) return []
    for (const id of await this.#findTargets(relation, ids)) known.add(id)
    return wanted.flatMap((id, index) => id === undefined || known.has(id) ? [] : [index])
  }

  async #findTargets (relation: Relation, ids: readonly Id[]): Promise<Id[]> {
    const target = relation.findTarget(this.#operation.collection.app).collection
    const readable = this.#operation.readableTargets?.get(target)
    if (readable === undefined) return []
    const context = withScope(readable.scope, this.#operation.context)
    const items = { property: target.id.property, ids, context, lock: 'existence' } as const
    const entries = await lockItems(this.#options.transaction!.join(target), items)
    return entries.map(({ id }) => id)
  }
}

/** What a deleted item refers to may be deleted as well, so a write that restores it is like one that creates it. */
function existed ({ storage }: Collection, item: object): boolean {
  const { filter } = toBaseRows(storage, undefined)
  // Whether a row is deleted is a property of the row itself.
  return filter === undefined || matches(filter as ItemFilter, item)
}

/** Refuses to remove an item, without names of collections that the caller may not know. */
class ReferencedProblem extends Problem {
  /** Not a property that apps see when they serialize the error of a call. */
  readonly #sources: readonly Collection[]

  constructor (sources: readonly Collection[]) {
    const { status, name, detail = '' } = refusalToProblem({ refused: 'referenced' })
    super(status, name, { detail })
    this.#sources = sources
  }

  /** The collections with items that refer to the item. */
  get sources (): readonly Collection[] {
    return this.#sources
  }
}

/**
 * Names the collections that the caller can read. Their rules are called after the transaction of the write, for which
 * they could wait. The rules of a part of a batch are not called: its transaction is still open.
 */
export function withReferringNames (next: Run): Run {
  return async (operation) => {
    const { isApp, transaction } = operation
    const outcome = await next(operation)
    if (!(outcome instanceof ReferencedProblem) || (transaction !== undefined && !isApp)) return outcome
    const { sources } = outcome
    const names = await findReadable(sources, operation)
    if (names.length === 0) return outcome
    const others = names.length < sources.length ? ', and others,' : ''
    return problem('conflict', {
      detail: `Items of ${names.join(' and ')}${others} refer to this item. Delete or change them first.`
    })
  }
}

async function findReadable (sources: readonly Collection[], operation: Operation): Promise<string[]> {
  const access = new RelationAccess(operation)
  const names = new Set<string>()
  for (const source of sources) {
    for (const action of ['list', 'read'] as const) {
      const isKnown = operation.isApp || hasKnownReaders(source, action)
      if (isKnown && await access.readRows(source, action) !== undefined) names.add(source.name)
    }
  }
  return [...names]
}

/** Hooks in `routes`, which may refuse callers, run only for requests to the collection itself. */
function hasKnownReaders (source: Collection, action: 'list' | 'read'): boolean {
  if (!source.actions.has(action)) return false
  return source.access?.explicit.has(action) === true || getRequestHooks(source, action).length === 0
}

/** Refuses to remove items that others refer to. */
export function withReferenceCheck (next: Write, incoming: readonly IncomingReference[]): Write {
  return async (operation, changes, options) => {
    const removed = changes.flatMap(({ action, before }) => action === 'remove' && before !== undefined ? [before] : [])
    if (removed.length > 0) {
      const sources = await findReferring({ incoming, removed, operation, options })
      if (sources.length > 0) return new ReferencedProblem(sources)
    }
    return next(operation, changes, options)
  }
}

interface Removal {
  readonly incoming: readonly IncomingReference[]
  readonly removed: ReadonlyArray<Entry<object>>
  readonly operation: Operation
  readonly options: WriteOptions
}

/** Returns the collections with items that refer to one of the removed ones. */
async function findReferring ({ incoming, removed, operation, options }: Removal): Promise<Collection[]> {
  const { collection } = operation
  const { transaction } = options
  const context = withScope(undefined, operation.context)
  const ids = removed.map(({ id }) => id)
  await lockItems(transaction!.join(collection), { property: collection.id.property, ids, context, lock: 'removal' })
  const sources = new Set<Collection>()
  for (const { property, findSource } of incoming) {
    const source = findSource(collection)
    // An item that is only marked as deleted still refers to a row that is really removed.
    const storage = transaction!.join(isSoftlyDeleted(collection) ? source : { ...source, storage: source.baseStorage })
    const isSelf = source.baseStorage === collection.baseStorage
    const byOthers = isSelf ? { not: { property: source.id.property, is: 'in', value: ids } } as const : undefined
    const refers = { property, is: 'in', value: ids } as const
    const page = await storage.list({
      filter: joinFilters(refers, byOthers),
      search: undefined,
      order: [{ property: source.id.property, descending: false }],
      after: undefined,
      before: undefined,
      limit: 1,
      properties: [source.id.property],
      count: false,
      lock: true,
      latest: true
    }, context)
    if (page.entries.length > 0 || page.unreadable !== undefined) sources.add(source)
  }
  return [...sources]
}

function isSoftlyDeleted ({ attached: { rowLayers } }: Collection): boolean {
  return rowLayers.length > 0
}

/** Locks the items that exist, in the order of their ids, so that two transactions do not wait for each other. */
async function lockItems (
  storage: Storage<object>,
  { property, ids, context, lock }: {
    readonly property: string
    readonly ids: readonly Id[]
    readonly context: Context
    readonly lock: 'existence' | 'removal'
  }
): Promise<ReadonlyArray<Entry<object>>> {
  const page = await storage.list({
    filter: { property, is: 'in', value: ids },
    search: undefined,
    order: [{ property, descending: false }],
    after: undefined,
    before: undefined,
    limit: ids.length,
    properties: [property],
    count: false,
    lock,
    latest: true
  }, context)
  return page.entries
}
