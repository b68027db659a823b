import { checkActionHooks, checkBulkHooks, checkRouteFunctions } from './access/check-hooks.ts'
import { checkRule } from './access/rules.ts'
import type { AccessRules, Rule } from './access/rules.ts'
import type { Collection, Parent } from './collection.ts'
import { sortLayers } from './compose.ts'
import type { Layer, LayerOptions, Position } from './operation.ts'
import { BadOption, Unsupported } from '../errors/errors.ts'
import { formatValue } from '../errors/format-value.ts'
import { isListParameter } from '../query/parameters.ts'
import type { QueryParameter } from '../query/query-parameter.ts'
import type { ParseExpansion } from '../query/tree.ts'
import type { Referrer, RelationKey, Storage, Supports } from '../storage/contract.ts'
import type { AnyFeature, Attached, CollectionInfo, Hooks, Host, Relation } from './feature.ts'
import type { AggregateAction, BulkAction, CustomAction } from './action-info.ts'

/** What the features of a definition have attached. */
export class Attachments implements Host, Attached {
  readonly collection: CollectionInfo
  readonly attached = this
  readonly actions = new Map<string, CustomAction>()
  readonly bulk = new Map<BulkAction['name'], BulkAction>()
  aggregate: AggregateAction | undefined
  readonly marks: Record<string, 'readOnly' | 'writeOnly'> = {}
  readonly descriptions: Array<Parameters<Host['describe']>[0]> = []
  readonly plugins: Array<Parameters<Host['register']>[0]> = []
  readonly required = new Set<keyof Supports>()
  readonly queryParameters = new Map<string, QueryParameter>()
  matchesAnySegment = false
  readonly onWrite: Hooks['onWrite'] | undefined
  parent: Parent | undefined
  relations: ReadonlyMap<string, Relation> = new Map()
  parseExpansion: ParseExpansion | undefined
  readonly keys: RelationKey[] = []
  readonly itemLinks: Array<Parameters<Host['addItemLinks']>[0]> = []
  readonly referrers: Referrer[] = []
  readonly hooks: { readonly [Name in keyof Hooks]: Array<Hooks[Name]> } = {
    onHeaders: [],
    onRules: [],
    onWrite: []
  }

  /** The access rules of the custom actions. */
  readonly #rules: Record<string, Rule> = {}
  readonly layers: Layer[] = []
  readonly #rows: Array<Parameters<Host['wrapRows']>[0]> = []
  readonly rowLayers: string[] = []
  /** The name of the feature that is being set up. */
  #feature: AnyFeature = { name: '', setup: () => {} }

  constructor (collection: CollectionInfo, features: readonly AnyFeature[]) {
    this.collection = collection
    for (const feature of features) this.#checkFeature(feature)
    const names = features.map(({ name }) => name)
    const repeated = names.find((name, index) => names.indexOf(name) < index)
    if (repeated !== undefined) this.fail(`the feature "${repeated}" is added twice. Remove one of them.`)
    // Sorted, so that the order in which they are added does not matter.
    for (const feature of features.toSorted((a, b) => a.name < b.name ? -1 : 1)) {
      this.#feature = feature
      feature.setup(this)
    }
    this.onWrite = joinHooks(this.hooks.onWrite)
    for (const position of new Set(this.layers.map((layer) => layer.position))) this.#checkLayers(position)
  }

  #checkLayers (position: Position): void {
    const layers = this.layers.filter((layer) => layer.position === position)
    const sorted = sortLayers(layers)
    if (sorted.length === layers.length) return
    const names = layers.filter((layer) => !sorted.includes(layer)).map(({ feature }) => feature)
    this.fail(`the features ${names.join(', ')} each must surround another at "${position}". ` +
      'Change the option outside of one of them.')
  }

  /** For callers without TypeScript. */
  #checkFeature (feature: unknown): void {
    if (typeof feature === 'function') {
      const name = feature.name === '' ? 'feature' : feature.name
      this.fail(`with() got the function ${name} instead of a feature. Call it, as in .with(${name}()).`)
    }
    const { name, setup } = Object(feature) as { name?: unknown, setup?: unknown }
    if (typeof name === 'string' && typeof setup === 'function') return
    this.fail(`with() got ${formatValue(feature)} instead of a feature. ` +
      'Pass features, as in .with(bulk(), idempotency()).')
  }

  fail (message: string): never {
    throw new BadOption(this.collection.name, message)
  }

  checkOptions (feature: string, options: unknown, names: readonly string[]): void {
    if (typeof options !== 'object' || options === null || Array.isArray(options)) {
      this.fail(`${feature} takes an object with ${names.join(', ')}, but got ${formatValue(options)}.`)
    }
    const unknown = Object.keys(options).find((name) => !names.includes(name))
    if (unknown !== undefined) {
      this.fail(`${feature}: there is no option "${unknown}". Available options: ${names.join(', ')}.`)
    }
  }

  require (support: keyof Supports, why: string): void {
    const { name, storage } = this.collection
    if (!storage.supports[support]) throw new Unsupported(name, why, storage.name)
    this.required.add(support)
  }

  markProperty (property: string, mark: 'readOnly' | 'writeOnly'): void {
    this.marks[property] = mark
  }

  wrapRows (wrap: Parameters<Host['wrapRows']>[0]): void {
    this.#rows.push(wrap)
    this.rowLayers.push(this.#feature.name)
  }

  wrap<At extends Position> (position: At, wrap: Layer<At>['wrap'], options: LayerOptions = {}): void {
    if (position === 'write' && options.transaction !== false) {
      this.require('transactions', `the layer of the feature ${this.#feature.name} around writes needs a transaction`)
    }
    // TypeScript cannot see that the function belongs to this position.
    const { name, keepsEntries = false } = this.#feature
    this.layers.push({ ...options, feature: name, keepsEntries, position, wrap } as unknown as Layer)
  }

  addQueryParameter (name: string, parameter: QueryParameter): void {
    const { properties } = this.collection.schema
    if (Object.hasOwn(properties, name)) {
      this.fail(`the query parameter "${name}" has the name of a property. Rename the property.`)
    }
    if (isListParameter(name)) {
      this.fail(`a feature adds the query parameter "${name}", which lists have already. Use another name.`)
    }
    if (this.queryParameters.has(name)) {
      this.fail(`two features add the query parameter "${name}". Remove one of them.`)
    }
    this.queryParameters.set(name, parameter)
  }

  addHook<Name extends keyof Hooks> (name: Name, hook: Hooks[Name]): void {
    if (name === 'onWrite') this.require('transactions', 'the hook onWrite of a feature needs a transaction')
    if (!this.hooks[name].includes(hook)) this.hooks[name].push(hook)
  }

  addAction (action: CustomAction): void {
    const { name } = action
    const { access } = this.collection
    const rule = action.allow ?? access?.defaultRule
    if (access === undefined && action.allow !== undefined && action.allow !== 'public') {
      this.fail(`the action "${name}" has allow, but the definition has no access. ` +
        'Add access: { authenticate: ({ request }) => ... }, or access: { allow: \'public\' }.')
    }
    if (access !== undefined && rule === undefined) {
      this.fail(`the action "${name}" has no allow, and access.allow has no rule for all actions. ` +
        'Add allow: \'public\' or a function to the action, or all to access.allow.')
    }
    checkRouteFunctions(this.collection.name, `route of the action "${name}"`, action.route)
    this.actions.set(name, action)
    if (rule === undefined) {
      checkActionHooks(this.collection, action)
      return
    }
    const option = `allow of the action "${name}"`
    checkRule(this.collection.name, rule, { option, where: '', authenticate: access?.authenticate })
    this.#rules[name] = rule
  }

  addBulkAction (action: BulkAction): void {
    const { actions } = this.collection
    if (action.run !== undefined) {
      const missing = [action.name, 'list' as const].find((needed) => !actions.has(needed))
      if (missing !== undefined) {
        this.fail(`bulk: ${action.name} finds items as a list does, but actions does not contain "${missing}". ` +
          `Add it to actions, or remove ${action.name} from bulk().`)
      }
      checkBulkHooks(this.collection, action.name)
    }
    this.bulk.set(action.name, action)
  }

  addAggregate (action: AggregateAction): void {
    const { path } = action
    if (this.actions.get(path)?.at === 'collection') {
      this.fail(`aggregates: the action "${path}" has the same path. Add path to aggregates(), such as "figures".`)
    }
    this.aggregate = action
  }

  /** The access rules of the definition, with those of custom actions. */
  extendAccess (access: AccessRules | undefined): AccessRules | undefined {
    return access && { ...access, allow: { ...access.allow, ...this.#rules } }
  }

  nestIn (parent: Collection, property: string): void {
    this.parent = { collection: parent, property }
  }

  addRelations (relations: ReadonlyMap<string, Relation>, parseExpansion: ParseExpansion): void {
    this.relations = relations
    this.parseExpansion = parseExpansion
  }

  addKey (key: RelationKey): void {
    this.keys.push(key)
  }

  addItemLinks (create: Parameters<Host['addItemLinks']>[0]): void {
    this.itemLinks.push(create)
  }

  addReferrer (referrer: Referrer): void {
    this.referrers.push(referrer)
  }

  matchAnySegment (): void {
    this.matchesAnySegment = true
  }

  describe (change: Parameters<Host['describe']>[0]): void {
    this.descriptions.push(change)
  }

  register (plugin: Parameters<Host['register']>[0]): void {
    this.plugins.push(plugin)
  }

  composeStorage (storage: Storage<object>): Storage<object> {
    const composed = this.#rows.reduce((below, wrap) => wrap(below), storage)
    if (this.aggregate !== undefined && composed.aggregate === undefined) {
      throw new Unsupported(this.collection.name, 'aggregates() needs the method aggregate', storage.name)
    }
    return composed
  }
}

function joinHooks (hooks: ReadonlyArray<Hooks['onWrite']>): Hooks['onWrite'] | undefined {
  if (hooks.length === 0) return undefined
  return async (write, storage) => {
    for (const hook of hooks) await hook(write, storage)
  }
}
