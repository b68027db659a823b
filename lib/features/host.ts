import { checkActionHooks, checkRouteFunctions } from '../access/check-hooks.ts'
import { checkRule } from '../access/rules.ts'
import type { AccessRules, Rule } from '../access/rules.ts'
import type { Action } from '../action.ts'
import type { Collection, Parent } from '../collection.ts'
import { BadOption, Unsupported } from '../errors.ts'
import { isListParameter } from '../listing/parameters.ts'
import type { Dialect, QueryParameter } from '../listing/query-parameter.ts'
import type { Related } from '../options.ts'
import type { Storage, Supports } from '../storage/contract.ts'
import type {
  ActionInfo,
  ActionLayer,
  ActionPhase,
  AnyFeature,
  Attached,
  CollectionInfo,
  CustomAction,
  Hooks,
  Host,
  StoragePhase
} from './feature.ts'

/** From the inside out. */
const actionPhases: readonly ActionPhase[] = [
  'transform',
  'replay',
  'redirect',
  'resolve',
  'render',
  'authorize',
  'timeout'
]
const storagePhases: readonly StoragePhase[] = ['timeout', 'rows', 'journal']

interface Layer<Phase, Wrap> {
  readonly phase: Phase
  readonly wrap: Wrap
}

type WrapStorage = Parameters<Host['wrapStorage']>[1]

/** What the features of a definition have attached. */
export class Attachments implements Host, Attached {
  readonly collection: CollectionInfo
  readonly actions = new Map<string, CustomAction>()
  readonly marks: Record<string, 'readOnly' | 'writeOnly'> = {}
  readonly descriptions: Array<Parameters<Host['describe']>[0]> = []
  readonly plugins: Array<Parameters<Host['register']>[0]> = []
  readonly required = new Set<keyof Supports>()
  readonly queryParameters = new Map<string, QueryParameter>()
  matchesAnySegment = false
  readonly onWrite: Hooks['onWrite'] | undefined
  parent: Parent | undefined
  readonly dialects: Dialect[] = []
  readonly relations = new Map<string, Related>()
  readonly readSchemas: Array<Parameters<Host['extendReadSchema']>[0]> = []
  returnsRemoved = false
  readonly hooks: { readonly [Name in keyof Hooks]: Array<Hooks[Name]> } = {
    onHeaders: [],
    onContent: [],
    onWrite: [],
    onView: [],
    onPage: [],
    onProblem: []
  }

  /** The access rules of the custom actions. */
  readonly #rules: Record<string, Rule> = {}
  readonly #actions: ActionLayer[] = []
  readonly #storages: Array<Layer<StoragePhase, WrapStorage>> = []
  readonly rowLayers: string[] = []
  /** The name of the feature that is being set up. */
  #feature = ''

  constructor (collection: CollectionInfo, features: readonly AnyFeature[]) {
    this.collection = collection
    for (const feature of features) this.#checkFeature(feature)
    const names = features.map(({ name }) => name)
    const repeated = names.find((name, index) => names.indexOf(name) < index)
    if (repeated !== undefined) this.fail(`the feature "${repeated}" is added twice. Remove one of them.`)
    // Sorted, so that the order in which they are added does not matter.
    for (const feature of features.toSorted((a, b) => a.name < b.name ? -1 : 1)) {
      this.#feature = feature.name
      feature.setup(this)
    }
    this.onWrite = joinHooks(this.hooks.onWrite)
  }

  /** For callers without TypeScript. */
  #checkFeature (feature: unknown): void {
    if (typeof feature === 'function') {
      const name = feature.name === '' ? 'feature' : feature.name
      this.fail(`with() got the function ${name} instead of a feature. Call it, as in .with(${name}()).`)
    }
    const { name, setup } = Object(feature) as { name?: unknown, setup?: unknown }
    if (typeof name === 'string' && typeof setup === 'function') return
    const given = JSON.stringify(feature) ?? typeof feature
    this.fail(`with() got ${given} instead of a feature. Pass features, as in .with(bulk(), idempotency()).`)
  }

  fail (message: string): never {
    throw new BadOption(this.collection.name, message)
  }

  checkOptions (feature: string, options: unknown, names: readonly string[]): void {
    if (typeof options !== 'object' || options === null || Array.isArray(options)) {
      this.fail(`${feature} takes an object with ${names.join(', ')}, but got ${JSON.stringify(options)}.`)
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

  wrapStorage (phase: StoragePhase, wrap: WrapStorage): void {
    this.#storages.push({ phase, wrap })
    if (phase === 'rows') this.rowLayers.push(this.#feature)
  }

  wrapAction (phase: ActionPhase, wrap: ActionLayer['wrap']): void {
    this.#actions.push({ phase, wrap })
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
    const rule = action.allow ?? access?.otherwise
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

  /** The access rules of the definition, with those of custom actions. */
  extendAccess (access: AccessRules | undefined): AccessRules | undefined {
    return access && { ...access, allow: { ...access.allow, ...this.#rules } }
  }

  nestIn (parent: Collection, property: string): void {
    this.parent = { collection: parent, property }
  }

  addDialect (dialect: Dialect): void {
    this.dialects.push(dialect)
  }

  addRelation (property: string, collection: Related): void {
    this.relations.set(property, collection)
  }

  extendReadSchema (extend: Parameters<Host['extendReadSchema']>[0]): void {
    this.readSchemas.push(extend)
  }

  returnRemovedItem (): void {
    this.returnsRemoved = true
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
    let composed = storage
    for (const { wrap } of sortLayers(this.#storages, storagePhases)) composed = wrap(composed)
    return composed
  }

  composeAction (action: Action, info: ActionInfo, core: readonly ActionLayer[]): Action {
    let composed = action
    for (const { wrap } of sortLayers([...core, ...this.#actions], actionPhases)) composed = wrap(composed, info)
    return composed
  }
}

function joinHooks (hooks: ReadonlyArray<Hooks['onWrite']>): Hooks['onWrite'] | undefined {
  if (hooks.length === 0) return undefined
  return async (write, storage) => {
    for (const hook of hooks) await hook(write, storage)
  }
}

function sortLayers<Phase, Wrap> (
  layers: ReadonlyArray<Layer<Phase, Wrap>>,
  phases: readonly Phase[]
): Array<Layer<Phase, Wrap>> {
  return phases.flatMap((phase) => layers.filter((layer) => layer.phase === phase))
}
