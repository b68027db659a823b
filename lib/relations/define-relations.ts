import { isDefinition, toCollection } from '../engine/collection.ts'
import { getDecision } from '../engine/decisions.ts'
import { changeOperation } from '../engine/operation.ts'
import type {
  EntryOutcome,
  GroupsOutcome,
  Operation,
  Outcome,
  PageOutcome,
  RelatedData,
  RuleSource,
  Run
} from '../engine/operation.ts'
import { BadOption } from '../errors/errors.ts'
import type { Feature, Host, Relation } from '../engine/feature.ts'
import { isObject } from '../http/json-value.ts'
import { Problem } from '../http/problems.ts'
import { addAppCheck, getRegistered } from '../engine/registry.ts'
import type { ServedCollection } from '../engine/registry.ts'
import type { Inclusion } from '../query/list-query.ts'
import { parseExpansion } from '../query/parse-expansion.ts'
import { hashVersions } from '../engine/selection.ts'
import type { Addition, Embed } from '../engine/selection.ts'
import type { Entry, RelationKey } from '../storage/contract.ts'
import { RelationAccess } from './caller-relations.ts'
import type { CallerRelations } from './caller-relations.ts'
import { checkServed } from './check-served.ts'
import type { RelatedDefinition } from './check-served.ts'
import { ignoreRelationNames } from './ignore-names.ts'
import { include } from './include.ts'
import { findKeys } from './keys.ts'
import { createRelationLinks } from './links.ts'
import {
  createTargetRules,
  withReadableTargets,
  withReferenceCheck,
  withReferringNames,
  withTargetCheck
} from './references.ts'
import type { IncomingReference } from './references.ts'
import { checkRelations, readRelations } from './relation.ts'
import type { GivenRelations, RelationOptions } from './relation.ts'
import type { Definitions } from '../engine/relation-types.ts'

/** Returns the definitions, each with the feature that has its relations. */
export function defineRelations (definitions: Definitions, given: GivenRelations): Definitions {
  checkArguments(definitions, given)
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(definitions, name))
  if (unknown !== undefined) {
    throw new BadOption(unknown, `relate() got relations of "${unknown}", but no definition of that name. ` +
      `Use one of ${Object.keys(definitions).join(', ')}.`)
  }
  const related: RelatedDefinition[] = []
  const returned = Object.fromEntries(Object.entries(definitions).map(([name, definition]) => {
    const relations = given[name] ?? {}
    const incoming = findIncoming(definitions, given, name)
    const keys = findKeys(definitions, given, name)
    if (given[name] === undefined && incoming.length === 0 && keys.length === 0) return [name, definition]
    const feature = createFeature(definitions, relations, { incoming, keys })
    const extended = definition.with(feature)
    related.push({
      defined: toCollection(definition),
      feature,
      targets: Object.values(relations).map(({ to }) => toCollection(definitions[to]!)),
      isReferring: incoming.length > 0 || Object.values(relations).some(({ references }) => references === true)
    })
    return [name, extended]
  }))
  const check = (registered: readonly ServedCollection[]): void => checkServed(registered, related)
  for (const { defined } of related) addAppCheck(defined.baseStorage, check)
  return returned
}

function checkArguments (definitions: unknown, given: unknown): void {
  const wrong = Object.entries(Object(definitions)).find(([, definition]) => !isDefinition(definition))
  if (wrong !== undefined) {
    throw new BadOption(wrong[0], 'relate() needs what define() returns. ' +
      `Use relate({ ${wrong[0]}: define({ name, schema, storage }), ... }, { ... }).`)
  }
  const isValid = isObject(definitions) && isObject(given) && Object.values(given).every(isObject)
  if (!isValid) {
    throw new BadOption('(none)', 'relate() takes an object with definitions, as define() returns them, and an ' +
      'object with the relations of each by name: { articles: { author: { to: "users", property: "authorId" } } }.')
  }
}

/** Finds the references to items of one of the definitions. */
function findIncoming (definitions: Definitions, given: GivenRelations, name: string): IncomingReference[] {
  return Object.entries(given).flatMap(([source, relations]) => {
    const defined = toCollection(definitions[source]!)
    return Object.values(relations)
      .filter((options) => isObject(options))
      .filter(({ to, property, references }) => to === name && property !== undefined && references === true)
      .map(({ property }) => ({
        property: property!,
        storage: defined.baseStorage,
        findSource: ({ app }) => app.findServed?.(defined.baseStorage)?.collection ?? defined
      }))
  })
}

/** What the relations of all definitions mean for one of them. */
interface Incoming {
  readonly incoming: readonly IncomingReference[]
  readonly keys: readonly RelationKey[]
}

function createFeature (
  definitions: Definitions,
  given: Readonly<Record<string, RelationOptions>>,
  { incoming, keys }: Incoming
): Feature<object> {
  return {
    name: 'relations',
    keepsEntries: true,
    setup (host) {
      const relations = readRelations(host, definitions, given)
      const references = [...relations.values()].filter((relation) => relation.references)
      addReferences(host, references, incoming)
      for (const key of keys) host.addKey(key)
      for (const referrer of incoming) host.addReferrer(referrer)
      if (relations.size === 0) return
      host.addRelations(relations, parseExpansion)
      host.addItemLinks((app) => createRelationLinks(relations, app))
      host.addQueryParameter('expand', {
        on: 'both',
        isAboutContent: true,
        // The document describes what it can contain, with the relations of the other collections.
        schema: { type: 'array', items: { type: 'string' } },
        isOffered: (hidden) => [...relations.values()].some(({ property }) => !hidden.has(property)),
        // It is part of the query itself.
        ofText: (text) => text,
        read: () => ({})
      })
      host.wrap('content', (next, { takesItem }) => {
        return takesItem ? ignoreRelationNames(next, relations.values()) : next
      })
      // Layers inside parse the query, with the relations that it refers to.
      host.addHook('onRules', openRelations)
      host.wrap('authorized', (next, action) => {
        return action.query === undefined ? next : withRelations(next)
      }, { outside: ['soft-delete'] })
      host.register((app) => {
        app.addHook('onReady', async () => {
          for (const { collection } of getRegistered(app)) {
            if (collection.attached === host.attached) checkRelations(collection)
          }
        })
      })
    }
  }
}

/** Checks references in the transaction of each write. */
function addReferences (host: Host, references: readonly Relation[], incoming: readonly IncomingReference[]): void {
  if (references.length > 0) {
    const decide = createTargetRules(references)
    host.addHook('onRules', decide)
    host.wrap('authorized', (next, { safe }) => safe ? next : withReadableTargets(next, decide))
    host.wrap('write', (next, { name }) => name === 'remove' ? next : withTargetCheck(next, references))
  }
  if (incoming.length > 0) {
    host.wrap('authorized', (next, { safe }) => safe ? next : withReferringNames(next))
    host.wrap('write', (next, { name, custom }) => {
      return name === 'remove' || custom !== undefined ? withReferenceCheck(next, incoming) : next
    })
  }
}

/** What a query names, as the caller sees it. */
interface OpenedRelations {
  readonly access: RelationAccess
  /** Undefined if it names no relations. */
  readonly relations: CallerRelations | undefined
}

/** Calls the rules of the collections that a query names. */
async function openRelations (source: RuleSource): Promise<OpenedRelations | Problem> {
  const { action, collection, view } = source
  const access = new RelationAccess(source)
  if (action.query === undefined) return { access, relations: undefined }
  const query = source.parseQuery()
  if (query instanceof Problem) return query
  const { mentions, expansion } = query
  const isNeeded = mentions.size > 0 || expansion !== undefined
  return { access, relations: isNeeded ? await access.open(collection, view, mentions) : undefined }
}

/** Lets the query name relations, and adds what it includes to the outcome. */
function withRelations (next: Run): Run {
  return async (operation) => {
    const opened = await getDecision(operation, openRelations)
    if (opened instanceof Problem) return opened
    const { access, relations } = opened
    if (relations === undefined) return next(operation)
    const lists = { ...operation.lists, relations }
    const related = changeOperation(operation, { lists, resolvedQuery: undefined })
    const listQuery = related.query()
    if (listQuery instanceof Problem) return listQuery
    const outcome = await next(related)
    if (outcome instanceof Problem) return outcome
    return addIncluded(outcome, { inclusions: listQuery.expand ?? [], relations, operation: related, access })
  }
}

interface Included {
  readonly inclusions: readonly Inclusion[]
  readonly relations: CallerRelations
  readonly operation: Operation
  readonly access: RelationAccess
}

/** A response that depends on related items says so, even if it includes none. */
async function addIncluded (
  outcome: Outcome,
  { inclusions, relations, operation, access }: Included
): Promise<Outcome> {
  if (outcome.kind !== 'entry' && outcome.kind !== 'page' && outcome.kind !== 'groups') return outcome
  const entries = getEntries(outcome)
  const addition = inclusions.length === 0 ? undefined : await include(entries, { inclusions, relations, operation })
  const { dependsOnCaller, vary, policies, names: collections } = access
  // The tag of a page is a hash already.
  const added = outcome.kind === 'entry' && addition !== undefined ? shorten(addition) : addition
  const related = { addition: added, dependsOnCaller, vary, policies, collections }
  return { ...outcome, related: merge(outcome.related, related) }
}

function getEntries (outcome: EntryOutcome | PageOutcome | GroupsOutcome): ReadonlyArray<Entry<object>> {
  if (outcome.kind === 'groups') return []
  return outcome.kind === 'entry' ? [outcome.entry] : outcome.page.entries
}

/** The versions of all included items would make an entity tag longer than clients accept. */
function shorten ({ add, version }: Addition): Addition {
  return { add, version: (entry) => `+${hashVersions(version(entry))}` }
}

/** A feature of the app may add something as well. */
function merge (first: RelatedData | undefined, second: RelatedData): RelatedData {
  if (first === undefined) return second
  const additions = [first.addition, second.addition].filter((addition) => addition !== undefined)
  const addition = {
    add (entry: Entry<object>, embed?: Embed) {
      return Object.assign({}, ...additions.map((one) => one.add(entry, embed))) as object
    },
    version: (entry: Entry<object>) => additions.map((one) => one.version(entry)).join('')
  }
  return {
    addition: additions.length === 0 ? undefined : addition,
    dependsOnCaller: first.dependsOnCaller || second.dependsOnCaller,
    vary: [...first.vary ?? [], ...second.vary ?? []],
    policies: [...first.policies ?? [], ...second.policies ?? []],
    collections: [...new Set([...first.collections, ...second.collections])]
  }
}
