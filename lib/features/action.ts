import { types } from 'node:util'
import type { FastifyRequest } from 'fastify'
import type { Caller } from '../engine/access/caller.ts'
import type { Rule } from '../engine/access/rules.ts'
import type { BasicCalls, CollectionCalls } from '../engine/call-types.ts'
import type { Definition } from '../engine/collection.ts'
import { formatValue } from '../errors/format-value.ts'
import { HookError } from '../errors/failure.ts'
import { cloneJson, freezeJson, isObject } from '../http/json-value.ts'
import { Problem, problem } from '../http/problems.ts'
import type { AddedAction } from '../engine/action-info.ts'
import { buildReturnedItem } from '../engine/build.ts'
import type { Operation, Outcome } from '../engine/operation.ts'
import { TransactionError } from '../engine/transaction.ts'
import type { OpenTransaction } from '../engine/transaction.ts'
import { writeItem } from '../engine/write.ts'
import type { Decision } from '../engine/write.ts'
import { boolean, string } from '../define/option-kinds.ts'
import type { RouteOptions, Transaction } from '../engine/definition.ts'
import { canBeQueryString, readQueryInput } from '../doors/http/query-input.ts'
import { refusePromise } from '../doors/http/links.ts'
import { fillDefaults, omitAnnotated } from '../schema/annotations.ts'
import { compileContentSchema } from '../schema/checks.ts'
import { findHiddenPaths, omitHidden, omitUnknown } from '../schema/known-properties.ts'
import { listFailures, validationProblem } from '../schema/failures.ts'
import { readProperties } from '../schema/properties.ts'
import type { Properties } from '../schema/properties.ts'
import { rewriteSchema } from '../schema/rewrite-schema.ts'
import { refineValue } from '../schema/refinement.ts'
import type { Refinement } from '../schema/refinement.ts'
import { convertSchema } from '../schema/standard-schema.ts'
import type { ConvertedSchema } from '../schema/standard-schema.ts'
import type { InputOf, ItemOf, ObjectSchema } from '../schema/static.ts'
import type { Validator } from '../schema/validation.ts'
import type { Entry, Id, JsonSchema } from '../storage/contract.ts'
import type { CustomAction } from '../engine/action-info.ts'
import type { Feature, Host } from '../engine/feature.ts'

export type { AddedAction } from '../engine/action-info.ts'

/** The argument of `run`. */
export type ActionContext<Item, On extends 'item' | 'collection', Input> = {
  /** The content of the request, validated and with its defaults. */
  readonly input: Input
  /** The caller of the request, or of the call from code; undefined if anonymous, and for the app itself. */
  readonly caller: Caller | undefined
  /**
   * Calls of the collection itself, as part of the transaction and as the app: the scope of the caller applies only
   * with `{ caller }`.
   */
  readonly collection: BasicCalls<Item>
  /**
   * Returns the calls of another collection of the app, as part of the transaction if there is one, and as the app: the
   * rules of the caller apply only with `{ caller }`.
   *
   * @example
   * const { item: product } = await getCollection(products).read(item.product, { caller })
   */
  getCollection<Other extends object, Adds> (definition: Definition<Other, Adds>): CollectionCalls<Other, Adds>
  /**
   * The transaction in which the action runs. Using it throws an error if there is none: if the storage has no
   * transactions, or the action is safe.
   */
  readonly transaction: Transaction
  /** The HTTP request; undefined if the call comes from code, also on behalf of a caller. */
  readonly request: FastifyRequest | undefined
  /** Aborted if the result is no longer needed: the client has disconnected, or the time of `timeout` is over. */
  readonly signal: AbortSignal
} & (On extends 'item' ? {
  /** The stored item. It is a copy, which `run` can change and return. */
  readonly item: Item
  /** The value in the URI of the item. */
  readonly id: Id
} : unknown)

/** What `run` returns: the new item, or nothing; with `output`, an object that contains it. */
export type ActionReturn<Item, On extends 'item' | 'collection', Output> =
  Output extends ObjectSchema
    ? { readonly output: ItemOf<Output> } & (On extends 'item' ? { readonly item?: Item } : unknown)
    : On extends 'item' ? Item | void : void

/** The options of `action()`. */
export interface CustomActionOptions<
  Item,
  On extends 'item' | 'collection',
  Input extends ObjectSchema,
  Output extends ObjectSchema | undefined
> {
  /**
   * Does the work. It runs in a transaction of the storage, in which no other request can change the item, and is
   * called again if the database had to roll back. A throw undoes everything in the transaction; throw a `problem()` to
   * say why.
   *
   * @example
   * run: ({ item, input }) => ({ ...item, status: 'cancelled', reason: input.reason })
   */
  run (context: ActionContext<Item, On, ItemOf<Input>>):
  ActionReturn<Item, On, Output> | Promise<ActionReturn<Item, On, Output>>
  /**
   * Whether it is an action on an item, at `/orders/{id}/cancel`, or on the collection, at `/orders/import`.
   *
   * @default 'item'
   * @example
   * on: 'collection'
   */
  on?: On
  /**
   * The schema of the content of requests: an object of TypeBox, zod, valibot or arktype. Properties that it does not
   * have are refused, and those with the name of one that `access.visible` hides from the caller.
   *
   * @default an object without properties
   * @example
   * input: Type.Object({ reason: Type.String({ maxLength: 200 }) })
   */
  input?: Input
  /**
   * The schema of the content of responses, if that is not the item: an object of TypeBox, zod, valibot or arktype.
   * Properties that it does not have are left out.
   *
   * @default responses have the item; those of an action on the collection have no content
   * @example
   * output: Type.Object({ total: Type.Number() })
   */
  output?: Output
  /**
   * Who may call it.
   *
   * @default the rule in `access.allow` for `all`; 'authenticated' with `access.authenticate`
   * @example
   * allow: ({ caller }) => caller?.role === 'admin'
   */
  allow?: Rule
  /**
   * Whether it is possible in the state that the item has. If not, the response is 409, and pages and links leave it
   * out. A text says why it is not possible.
   *
   * @default it is always possible
   * @example
   * when: ({ item }) => item.status === 'open' || 'Only open orders can be cancelled.'
   */
  when? (context: { readonly item: Readonly<Item> }): boolean | string
  /**
   * Whether it only reads. Then it needs neither a transaction nor a precondition, and `run` cannot return an item.
   * It is also served by GET, with its input as query parameters, unless the input has nested objects.
   *
   * @default false
   * @example
   * safe: true
   */
  safe?: boolean
  /**
   * Whether repeating it has no further effect. Then it needs no `Idempotency-Key`.
   *
   * @default false; true if it is safe
   * @example
   * idempotent: true
   */
  idempotent?: boolean
  /**
   * Whether requests need `If-Match`. An action decides by the current state of the item, so most need none.
   *
   * @default `etag.required` of the definition; false if it is safe
   * @example
   * etag: { required: false }
   */
  etag?: { required: boolean }
  /**
   * Options of its Fastify route, in addition to those in `routes.all`.
   *
   * @default {}
   * @example
   * route: { config: { rateLimit: { max: 3 } } }
   */
  route?: RouteOptions
  /**
   * A few words, for buttons and for OpenAPI.
   *
   * @default its name in words: `Reset password`
   * @example
   * title: 'Cancel'
   */
  title?: string
  /**
   * A sentence or more, for OpenAPI.
   *
   * @default 'Runs the action cancel on the item.'
   * @example
   * description: 'Cancels the order and returns the goods to the stock.'
   */
  description?: string
}

const noInput = { type: 'object', properties: {}, additionalProperties: false } as const

/** The schema of an action without input. */
type NoInput = typeof noInput & { readonly static: Record<never, never>, readonly params: [] }

const optionNames = [
  'on', 'input', 'output', 'allow', 'when', 'safe', 'idempotent', 'etag', 'route', 'title', 'description', 'run'
]

/**
 * Adds an action beyond the six: `POST /orders/{id}/cancel`, with the rules of all other requests.
 *
 * @example
 * define({ name: 'orders', schema: Order, storage: postgres(pool) })
 *   .with(action('cancel', {
 *     input: Type.Object({ reason: Type.String() }),
 *     when: ({ item }) => item.status === 'open',
 *     run: ({ item, input }) => ({ ...item, status: 'cancelled', reason: input.reason })
 *   }))
 */
export function action<
  Item extends object,
  const Name extends string,
  const On extends 'item' | 'collection' = 'item',
  const Input extends ObjectSchema = NoInput,
  const Output extends ObjectSchema | undefined = undefined
> (
  name: Name,
  options: CustomActionOptions<NoInfer<Item>, On, Input, Output>
): Feature<Item, AddedAction<Name, On, InputOf<Input>, Output extends ObjectSchema ? ItemOf<Output> : undefined>> {
  return {
    name: `action:${name}`,
    setup (host) {
      host.checkOptions(`action("${name}")`, options, optionNames)
      // The item, the input and the output have the types of their schemas, which have been validated.
      const untyped = options as unknown as UntypedOptions
      const on = untyped.on ?? 'item'
      checkName(host, name, on)
      checkActionOptions(host, name, untyped)
      host.addAction(createAction(host, name, untyped))
    }
  }
}

/** The options, whatever the type of the items is. */
interface UntypedOptions extends Omit<
  CustomActionOptions<object, 'item', ObjectSchema, undefined>,
  'run' | 'on' | 'input' | 'output'
> {
  run (context: object): unknown
  on?: 'item' | 'collection'
  input?: unknown
  output?: unknown
}

const namePattern = /^[A-Za-z][\w-]{0,63}$/

/** Calls from code and the typed client have these names. `then` would make them look like a promise. */
const methodNames = new Set([
  'list', 'pages', 'create', 'read', 'replace', 'update', 'remove', 'transaction', 'then', 'all',
  'createMany', 'updateMany', 'removeMany', 'aggregate',
  // Links of items.
  'self', 'collection', 'up',
  // In OpenAPI, the operation of the method QUERY.
  'query'
])

function checkName (host: Host, name: string, on: 'item' | 'collection'): void {
  if (typeof name !== 'string' || !namePattern.test(name)) {
    host.fail(`action(${formatValue(name)}): the name is a path segment. ` +
      'Use letters, digits, - and _, and begin with a letter.')
  }
  if (methodNames.has(name) || name in Object.prototype) {
    host.fail(`action("${name}"): calls, clients, links or OpenAPI already have something of this name. ` +
      'Choose another name.')
  }
  if (on === 'collection' && host.collection.id.read(name) !== undefined) {
    host.fail(`action("${name}"): an item can have the id "${name}", which could no longer be reached. ` +
      'Restrict the schema of the id, for example with format: \'uuid\', or make it an action on an item.')
  }
}

/** For callers without TypeScript. */
const optionKinds = {
  safe: boolean,
  idempotent: boolean,
  title: string,
  description: string,
  route: { kind: 'an object with options of a Fastify route', matches: isObject }
}

function checkActionOptions (host: Host, name: string, options: UntypedOptions): void {
  const { on, run, when, etag } = options
  if (typeof run !== 'function') host.fail(`action("${name}"): run is missing. Make it a function.`)
  if (on !== undefined && on !== 'item' && on !== 'collection') {
    host.fail(`action("${name}"): on is ${formatValue(on)}. Use "item" or "collection".`)
  }
  if (when !== undefined && (typeof when !== 'function' || on === 'collection')) {
    host.fail(`action("${name}"): when must be a function of an item. An action on the collection has none.`)
  }
  for (const [option, { kind, matches }] of Object.entries(optionKinds)) {
    const value = options[option as keyof typeof optionKinds]
    if (value !== undefined && !matches(value)) {
      host.fail(`action("${name}"): ${option} is ${formatValue(value)}. Make it ${kind}.`)
    }
  }
  if (etag !== undefined && typeof Object(etag).required !== 'boolean') {
    host.fail(`action("${name}"): etag is ${formatValue(etag)}. Make it { required: true } or { required: false }.`)
  }
  if (types.isAsyncFunction(when)) {
    host.fail(`action("${name}"): when is an async function, but it decides about links as well. ` +
      'Make it a function that returns true, false or a text, and wait for other data in run.')
  }
}

/** Converts the schema of the content of requests or responses. */
function readContentSchema (host: Host, name: string, option: 'input' | 'output', schema: unknown): ConvertedSchema {
  const converted = convertSchema(describeSchema(host, name, option), schema)
  if (!isObject(converted.schema) || converted.schema.type !== 'object') {
    host.fail(`action("${name}"): ${option} must be a schema of an object, such as Type.Object({}).`)
  }
  return converted
}

function describeSchema ({ collection }: Host, name: string, option: 'input' | 'output'): string {
  return `${collection.name}, ${option} of action("${name}")`
}

/** `reset-password` and `resetPassword` -> `Reset password`. */
function toTitle (name: string): string {
  const words = name.replace(/[-_]+/g, ' ').replace(/(?<=[a-z\d])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return words[0]!.toUpperCase() + words.slice(1)
}

function createAction (host: Host, name: string, options: UntypedOptions): CustomAction {
  const { on: at = 'item', safe = false, when } = options
  const { allow, route = {}, title = toTitle(name), description } = options
  const runner = new ActionRunner(host, name, { ...options, on: at })
  return {
    name,
    at,
    safe,
    idempotent: options.idempotent ?? safe,
    input: runner.input,
    output: runner.output,
    allow,
    route,
    title,
    description,
    readQuery: safe && canBeQueryString(runner.input) ? (query) => readQueryInput(query, runner.input) : undefined,
    run: (operation) => runner.run(operation),
    showOutput: (output) => runner.showOutput(output),
    requiresMatch: (general) => runner.requiresMatch(general),
    isPossible: (item) => when === undefined || callWhen(name, when, item) === true,
    condition: String(when)
  }
}

/** Links are built while a response is rendered, so the function cannot be asynchronous. */
function callWhen (name: string, when: NonNullable<UntypedOptions['when']>, item: object): unknown {
  const source = `The function when of the action "${name}"`
  return refusePromise(when({ item: freezeJson(item) }), source, 'true, false or a text')
}

/** 422 for properties with the name of one that the caller does not see. */
function findUnseen (content: unknown, hidden: ReadonlySet<string>): Problem | undefined {
  const paths = findHiddenPaths(content, hidden)
  if (paths.length === 0) return undefined
  return validationProblem(listFailures(paths, 'is not a known property'))
}

type RunnerOptions = UntypedOptions & Required<Pick<UntypedOptions, 'on'>>

/** Runs one custom action. */
class ActionRunner {
  /** The schema of the content that clients send. */
  readonly input: JsonSchema
  /** The schema of the content that clients get. Some callers do not see all of it. */
  readonly output: JsonSchema | undefined
  readonly #name: string
  /** How errors name the action. */
  readonly #source: string
  readonly #options: RunnerOptions
  readonly #validateInput: Validator
  readonly #validateOutput: Validator | undefined
  readonly #refineInput: Refinement | undefined
  readonly #refineOutput: Refinement | undefined
  readonly #inputProperties: Properties
  readonly #outputProperties: Properties | undefined

  constructor (host: Host, name: string, options: RunnerOptions) {
    const { collection } = host
    this.#name = name
    this.#source = `The action ${name} of the collection ${collection.name}`
    this.#options = options
    const given = readContentSchema(host, name, 'input', options.input === undefined ? noInput : options.input)
    const returned = options.output === undefined
      ? undefined
      : readContentSchema(host, name, 'output', options.output)
    const { schema: input } = given
    const output = returned?.schema
    const accepted = rewriteSchema(input, { optional: ['readOnly'] })
    this.#validateInput = compileContentSchema(describeSchema(host, name, 'input'), accepted)
    this.#validateOutput = output && compileContentSchema(describeSchema(host, name, 'output'), output)
    this.#refineInput = given.refinement
    this.#refineOutput = returned?.refinement
    this.#inputProperties = readProperties(input)
    this.#outputProperties = output && readProperties(output)
    this.input = rewriteSchema(input, { drop: 'readOnly', filled: true })
    const optionalNames = new Set(collection.access?.visible.keys())
    this.output = output && rewriteSchema(output, { drop: 'writeOnly', optionalNames })
  }

  run (operation: Operation): Promise<Outcome | Problem> {
    return writeItem(operation, 'inside', (current, transaction) => {
      return this.#decide(operation, { current, transaction })
    })
  }

  async #decide (
    operation: Operation,
    { current, transaction }: { current: Entry<object> | undefined, transaction: OpenTransaction | undefined }
  ): Promise<Decision | Problem> {
    const { on } = this.#options
    if (on === 'item') {
      if (current === undefined) return problem('not-found')
      // Before the content is read: RFC 9110, section 13.2.1.
      const failed = operation.check?.(current)
      if (failed !== undefined) return failed
    }
    const content = this.#readInput(operation, current)
    if (content instanceof Problem) return content
    const whole = this.#refineInput === undefined ? content : await this.#refine(this.#refineInput, content, operation)
    if (whole instanceof Problem) return whole
    const { hidden } = operation.view.type
    // A default that run merges would replace the value that the caller does not see. An object stays one.
    const input = hidden === undefined ? whole : omitHidden(whole, hidden) as object
    const impossible = current && this.#checkState(current.item)
    if (impossible !== undefined) return impossible
    const context = new RunContext(operation, { input, current, transaction })
    let returned: unknown
    try {
      returned = await this.#options.run(context)
    } catch (error) {
      // It goes to the error handler unchanged, and undoes the transaction.
      throw transaction === undefined ? new HookError(error) : transaction.rememberHookError(error)
    }
    const { item, output: full } = this.#readReturned(returned)
    if (this.#refineOutput !== undefined) await this.#checkOutput(this.#refineOutput, full)
    // As JSON, because a toJSON() could add a property. An object stays one.
    const output = full === undefined || hidden === undefined
      ? full
      : omitHidden(JSON.parse(JSON.stringify(full)), hidden) as object
    if (item === undefined || current === undefined) return { item: undefined, output }
    this.#checkMayWrite()
    const source = `The action ${this.#name}`
    const built = await buildReturnedItem(operation, { returned: item, before: current, source, transaction })
    return built instanceof Problem ? built : { item: built, output }
  }

  /** Whether requests need If-Match, given whether the writes of the collection do. */
  requiresMatch (general: boolean): boolean {
    const { on, safe = false, etag } = this.#options
    return on === 'item' && (etag?.required ?? (general && !safe))
  }

  #readInput (
    operation: Operation,
    current: Entry<object> | undefined
  ): object | Problem {
    const content = operation.steps.content(operation, current)
    if (content instanceof Problem) return content
    const { hidden } = operation.view.type
    const unseen = hidden && findUnseen(content.value, hidden)
    if (unseen !== undefined) return unseen
    const properties = this.#inputProperties
    // As in a POST, readOnly properties are ignored.
    const input = fillDefaults(omitAnnotated(content.value, properties, 'readOnly'), properties)
    const failures = this.#validateInput(input)
    if (failures !== undefined) return validationProblem(failures)
    // The schema accepts only objects.
    return input as object
  }

  /** Checks the input with the library of its schema, which can change values. */
  async #refine (refinement: Refinement, input: object, { view: { type } }: Operation): Promise<object | Problem> {
    const refined = await refineValue(refinement, input, {
      source: `The input of the action ${this.#name}`,
      properties: this.#inputProperties,
      hidden: type.hidden,
      isDraft: true,
      findFailures: this.#validateInput
    })
    return refined.failures === undefined ? refined.value : validationProblem(refined.failures)
  }

  /** Checks the output with the library of its schema. */
  async #checkOutput (refinement: Refinement, output: unknown): Promise<void> {
    const { issues } = await refinement.validate(output)
    if (issues !== undefined) {
      throw this.#toOutputError(issues.map(({ message }) => message).join(', '))
    }
  }

  #toOutputError (found: string | undefined): TypeError {
    return new TypeError(`${this.#source} returned an invalid output` +
      `${found === undefined ? '' : `: ${found}`}. Return { output } that matches its schema.`)
  }

  #checkState (item: object): Problem | undefined {
    const { when } = this.#options
    const verdict = when === undefined || callWhen(this.#name, when, item)
    if (verdict === true) return undefined
    const detail = typeof verdict === 'string'
      ? verdict
      : `The action ${this.#name} is not possible in the state that the item has.`
    return problem('conflict', { detail })
  }

  #checkMayWrite (): void {
    if (this.#options.safe !== true) return
    throw new TypeError(`${this.#source} is safe, but it returned an item to write. Return nothing, or remove safe.`)
  }

  #readReturned (returned: unknown): { item: unknown, output: object | undefined } {
    if (this.#validateOutput === undefined) return { item: returned ?? undefined, output: undefined }
    const { item, output: full } = Object(returned) as { item?: unknown, output?: unknown }
    const output = omitUnknown(full, this.#outputProperties)
    const failures = this.#validateOutput(output)
    if (!isObject(output) || failures !== undefined) {
      const found = failures?.map(({ pointer, message }) => `${pointer} ${message}`.trim()).join(', ')
      throw this.#toOutputError(found)
    }
    return { item, output }
  }

  showOutput (output: object): object {
    // An object stays one.
    return omitAnnotated(output, this.#outputProperties, 'writeOnly') as object
  }
}

interface RunParts {
  readonly input: object
  readonly current: Entry<object> | undefined
  readonly transaction: OpenTransaction | undefined
}

/** The argument of `run`. What few actions need is created when it is read. */
class RunContext {
  readonly input: object
  readonly caller: Caller | undefined
  readonly request: FastifyRequest | undefined
  readonly item: object | undefined
  readonly id: Id | undefined
  readonly #operation: Operation
  readonly #transaction: OpenTransaction | undefined

  constructor (operation: Operation, { input, current, transaction }: RunParts) {
    this.input = input
    this.caller = operation.caller
    this.request = operation.request
    // The app may change its argument, which memory() has stored.
    this.item = current && cloneJson(current.item)
    this.id = current?.id
    this.#operation = operation
    this.#transaction = transaction
  }

  get signal (): AbortSignal {
    return this.#operation.context.signal
  }

  get collection (): BasicCalls<object> {
    // Only collections that an app serves have actions that run.
    const { collection } = this.#operation
    return collection.app.openCollection!(collection, this.#transaction)
  }

  /** A function that needs no `this`, so that `run` can destructure its argument. */
  get getCollection () {
    return <Other extends object, Adds>(definition: Definition<Other, Adds>): CollectionCalls<Other, Adds> => {
      return this.#operation.collection.app.openCollection!(definition, this.#transaction)
    }
  }

  get transaction (): Transaction {
    if (this.#transaction !== undefined) return this.#transaction
    const { name, storage } = this.#operation.collection
    throw new TransactionError(storage.supports.transactions
      ? `Collection ${name}: the action has no transaction, because it is safe. Use getCollection() instead.`
      : `Collection ${name}: the action has no transaction, because the storage ${storage.name} has none.`)
  }
}
