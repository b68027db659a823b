import { authorize, getAppAccess, Refused } from '../engine/access/authorize.ts'
import { buildParentFilter } from '../engine/access/parent.ts'
import { dependsOnCaller } from '../engine/access/rules.ts'
import type { Collection, Served } from '../engine/collection.ts'
import type { Operation } from '../engine/operation.ts'
import type { View } from '../engine/view.ts'
import type { CachePolicy } from '../http/cache-control.ts'
import type { Problem } from '../http/problems.ts'
import type { Inclusion } from '../query/list-query.ts'
import type { Lists } from '../query/lists.ts'
import type { ListedRelation, ListedRelations } from '../query/names.ts'
import { resolveExpansion } from '../query/resolve-expansion.ts'
import type { Expansion, Mentions } from '../query/tree.ts'
import { joinFilters } from '../storage/filter.ts'
import { toBaseRows } from '../storage/related.ts'
import type { Filter, RelatedRows } from '../storage/contract.ts'
import type { Relation } from '../engine/feature.ts'

// What a caller can read of related collections. What it cannot read is neither included, nor counted, nor can lists be
// filtered or sorted by it.

/** A relation, as the caller of an operation sees it. */
export class CallerRelation implements ListedRelation {
  readonly relation: Relation
  readonly target: Served
  /** What the caller sees of the related items; undefined if it may not read them. */
  readonly reading: Reading | undefined
  /** How the caller can query them, with their relations that the query names. */
  readonly lists: Lists | undefined
  /** Their relations. */
  readonly relations: CallerRelations

  constructor (
    { relation, target, reading }: Pick<CallerRelation, 'relation' | 'target' | 'reading'>,
    relations: CallerRelations
  ) {
    this.relation = relation
    this.target = target
    this.reading = reading
    this.lists = reading && { ...reading.view.lists, relations }
    this.relations = relations
  }

  toRows (filter: Filter | undefined): RelatedRows {
    const { relation: { property, equals }, target, reading } = this
    return { property, equals, ...toBaseRows(target.collection.storage, joinFilters(reading?.scope, filter)) }
  }
}

/** The relations of a collection, as the caller sees them. */
export class CallerRelations implements ListedRelations {
  readonly names: readonly string[]
  readonly opened: ReadonlyMap<string, CallerRelation>

  constructor (names: readonly string[], opened: ReadonlyMap<string, CallerRelation>) {
    this.names = names
    this.opened = opened
  }

  resolveExpansion (expansion: Expansion, count: number): readonly Inclusion[] | Problem {
    return resolveExpansion(this, expansion, count)
  }
}

/** What a caller can read of a collection. */
interface Reading {
  readonly view: View
  /** The rows that it can read; undefined means all of them. */
  readonly scope: Filter | undefined
}

/** Who calls. */
type Source = Pick<Operation, 'isApp' | 'request' | 'caller'>

/** Opens the relations that a query refers to. The rules of each collection are called once. */
export class RelationAccess {
  readonly #source: Source
  /** By collection: another one may have the same name. */
  readonly #readings = {
    list: new Map<Collection, Promise<Reading | undefined>>(),
    read: new Map<Collection, Promise<Reading | undefined>>()
  }

  constructor (source: Source) {
    this.#source = source
  }

  /** The names of the collections that the response depends on. */
  get names (): string[] {
    const { list, read } = this.#readings
    return [...new Set([...list.keys(), ...read.keys()].map(({ name }) => name))]
  }

  /** Their policies for caches. */
  get policies (): CachePolicy[] {
    return (['list', 'read'] as const).flatMap((action) => {
      return [...this.#readings[action].keys()].map(({ http: { cache } }) => cache[action])
    })
  }

  get dependsOnCaller (): boolean {
    return this.#findDependent().length > 0
  }

  /** The request headers that identify the caller to the collections that depend on it. */
  get vary (): string[] {
    return this.#findDependent().flatMap(({ access }) => access?.vary ?? [])
  }

  #findDependent (): Collection[] {
    return (['list', 'read'] as const).flatMap((action) => {
      return [...this.#readings[action].keys()].filter(({ access }) => dependsOnCaller(access, action))
    })
  }

  async open (collection: Collection, view: View, mentions: Mentions): Promise<CallerRelations> {
    const visible = [...collection.attached.relations].filter(([, { property }]) => !isHidden(view, property))
    const opened = new Map<string, CallerRelation>()
    for (const [name, relation] of visible) {
      const inner = mentions.get(name)
      if (inner !== undefined) opened.set(name, await this.#openRelation(collection, relation, inner))
    }
    return new CallerRelations(visible.map(([name]) => name), opened)
  }

  async #openRelation (collection: Collection, relation: Relation, mentions: Mentions): Promise<CallerRelation> {
    const target = relation.findTarget(collection.app)
    const reading = await this.readRows(target.collection, relation.isMany ? 'list' : 'read')
    // To include them would reveal a property that the caller does not see.
    if (reading === undefined || isHidden(reading.view, relation.equals)) {
      return new CallerRelation({ relation, target, reading: undefined }, noRelations)
    }
    const relations = await this.open(target.collection, reading.view, mentions)
    return new CallerRelation({ relation, target, reading }, relations)
  }

  /** What the caller can read of a collection; undefined if it may not read it. */
  readRows (collection: Collection, action: 'list' | 'read'): Promise<Reading | undefined> {
    const readings = this.#readings[action]
    let reading = readings.get(collection)
    if (reading === undefined) readings.set(collection, reading = this.#authorize(collection, action))
    return reading
  }

  /** Items of a nested collection exist only if their parents exist for the caller. */
  async #authorize (collection: Collection, action: 'list' | 'read'): Promise<Reading | undefined> {
    const { attached: { parent } } = collection
    const own = await this.#authorizeAlone(collection, action)
    if (own === undefined || parent === undefined) return own
    const outer = await this.readRows(parent.collection, 'read')
    if (outer === undefined) return undefined
    return { ...own, scope: joinFilters(own.scope, buildParentFilter(parent, outer.scope)) }
  }

  async #authorizeAlone (
    collection: Collection,
    action: 'list' | 'read'
  ): Promise<Reading | undefined> {
    const access = this.#source.isApp
      ? getAppAccess(collection)
      : await authorize(collection, { rules: [action], isNested: false }, this.#source)
    if (access instanceof Refused) return undefined
    return { view: access.view, scope: access.scope?.filter }
  }
}

const noRelations = new CallerRelations([], new Map())

function isHidden ({ type: { hidden } }: View, property: string): boolean {
  return hidden?.has(property) === true
}
