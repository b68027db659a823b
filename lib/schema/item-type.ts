import { hash } from 'node:crypto'
import { parsePointer, toPointer } from '../http/json-pointer.ts'
import { findNonJson, isEqual, isObject, toJsonValue } from '../http/json-value.ts'
import type { JsonObject } from '../http/json-value.ts'
import { problem } from '../http/problems.ts'
import type { Problem } from '../http/problems.ts'
import type { Entry, Id, JsonSchema } from '../storage/contract.ts'
import { fillDefaults, findChanges, omitAnnotated } from './annotations.ts'
import { carryOver } from './carry-over.ts'
import { compileSchema } from './checks.ts'
import { normalizeDates } from './date-times.ts'
import type { DateTimes } from './date-times.ts'
import { digestSchema } from './digest.ts'
import { listFailures, validationProblem } from './failures.ts'
import type { Failure } from './failures.ts'
import type { Identity } from './ids.ts'
import { MessageSchemas } from './message-schemas.ts'
import { readProperties } from './properties.ts'
import type { Annotation, Properties } from './properties.ts'
import { continueWith, refineValue } from './refinement.ts'
import type { Refinement } from './refinement.ts'
import { addAnnotations, makeOptional, rewriteSchema, trustProperties } from './rewrite-schema.ts'
import { removeSecrets } from './secrets.ts'
import { getNextTimestamp, getTimestamp } from './timestamps.ts'
import type { Timestamps } from './timestamps.ts'
import { getValidator } from './validation.ts'
import type { Validator } from './validation.ts'

/** What an item type is compiled from. */
export interface ItemTypeOptions {
  /** The name of the collection, for messages. */
  readonly name: string
  readonly schema: JsonSchema
  /** What the library of the schema checks beyond it. */
  readonly refinement?: Refinement | undefined
  readonly id: Identity
  readonly timestamps: Timestamps
  readonly dateTimes: DateTimes | undefined
  /** The properties that some callers do not see. */
  readonly concealed: readonly string[]
  /** Whether the server sets or keeps properties, so that the whole item has to be validated after the draft. */
  readonly isCompleted: boolean
  /** Whether functions of the app return items. */
  readonly isReturned: boolean
}

/** What the draft of an item is built from. */
export interface DraftOptions {
  readonly kind: 'create' | 'replace' | 'update'
  /** The content of the request; for an update, the item after the patch. */
  readonly content: unknown
  /** The item that the content is compared with; undefined for a new one. */
  readonly base: object | undefined
  /** The id in the URI; undefined if a new item gets one. */
  readonly id: Id | undefined
  /** Other values that the URI sets, such as the id of the parent. The content can repeat, but not contradict them. */
  readonly fixed: Readonly<Record<string, Id>> | undefined
  /** The values that the scope of the caller sets in new items. */
  readonly scope: Readonly<Record<string, unknown>> | undefined
}

/** An item that is refined. */
export interface RefinedItem {
  /** Whether the server sets readOnly properties later. */
  readonly isDraft?: boolean
  /** The id that it must have; undefined if it is new. */
  readonly id?: unknown
  /** Other values that it must have. */
  readonly fixed?: Readonly<Record<string, Id>> | undefined
}

/** An item that a function of the app has returned. */
export interface ReturnedItem {
  /** What has returned it, for errors. */
  readonly source: string
  /** The id that it must have; undefined if the app can choose it. */
  readonly id: unknown
}

interface Validators {
  /** Before `hooks.beforeValidation`, when readOnly properties may be missing. */
  readonly draft: Validator
  /** After it. The same as `draft` if nothing can have changed. */
  readonly item: Validator
  /** For items that a function of the app has returned. */
  readonly returned: Validator
}

/** How many kinds of callers have a type of their own. */
const maxVariants = 64

const hiddenMessage = 'has an invalid property that is hidden from the caller'

/**
 * The items of a collection, compiled once from the schema: how content becomes an item, and what a caller sees of it.
 * Methods return the item, or a problem that lists what is invalid.
 */
export class ItemType {
  readonly name: string
  readonly schema: JsonSchema
  readonly id: Identity
  readonly timestamps: Timestamps
  /** Which properties are date-times; undefined if none is. */
  readonly dateTimes: DateTimes | undefined
  readonly properties: Properties
  /** The schemas of the content of messages. */
  readonly messages: MessageSchemas
  /** Changes if the representations of unchanged items change, in every format. */
  readonly digest: string
  /** The properties that the caller does not see; undefined if it sees all. */
  readonly hidden: ReadonlySet<string> | undefined
  /** What the library of the schema checks beyond it; undefined for TypeBox. */
  readonly refinement: Refinement | undefined
  readonly #showsAll: boolean
  readonly #validators: Validators
  readonly #variants = new Map<string, ItemType>()
  readonly #versions = new WeakMap<Entry<object>, string>()

  constructor (options: ItemTypeOptions, variant?: TypeVariant) {
    const { name, schema, id, timestamps, dateTimes, concealed } = options
    this.name = name
    this.schema = variant?.schema ?? schema
    this.id = id
    this.timestamps = timestamps
    this.dateTimes = dateTimes
    this.properties = readProperties(variant?.described ?? this.schema)
    this.messages = variant?.messages ?? new MessageSchemas(schema, concealed)
    this.digest = variant?.digest ?? digestSchema(schema, concealed)
    this.hidden = variant?.hidden
    this.refinement = options.refinement
    this.#showsAll = variant?.showsAll === true
    this.#validators = variant?.validators ?? compileValidators(options)
    this.#options = options
  }

  readonly #options: ItemTypeOptions

  /** Returns the type for callers who do not see these properties. For them, items have no such properties. */
  hide (hidden: ReadonlySet<string> | undefined): ItemType {
    if (hidden === undefined) return this
    return this.#getVariant(JSON.stringify([...hidden]), () => {
      const schema = hideProperties(this.schema, hidden)
      const draft = rewriteSchema(schema, { optional: ['readOnly'] })
      const validators = { ...this.#validators, draft: (value: unknown) => getValidator(draft)(value) }
      return { schema, hidden, validators }
    })
  }

  /** Returns the type for the app itself, which sees all properties and can set readOnly ones, except for these. */
  open (reserved: readonly string[]): ItemType {
    return this.#getVariant('open', () => {
      const { id, timestamps: { created, updated } } = this
      const closed = new Set<string | undefined>([id.property, created, updated, ...reserved])
      const properties = Object.entries({ ...this.schema.properties }).map(([name, property]) => {
        return [name, closed.has(name) ? property : { ...property, readOnly: false }]
      })
      return { described: { ...this.schema, properties: Object.fromEntries(properties) }, showsAll: true }
    })
  }

  #getVariant (key: string, build: () => Partial<TypeVariant>): ItemType {
    let variant = this.#variants.get(key)
    if (variant === undefined) {
      const { messages, digest } = this
      variant = new ItemType(this.#options, { messages, digest, validators: this.#validators, ...build() })
      this.#variants.set(key, variant)
    }
    if (this.#variants.size > maxVariants) this.#variants.delete(this.#variants.keys().next().value!)
    return variant
  }

  /** Returns the item to write, before `hooks.beforeValidation`: readOnly properties can be missing. */
  draft (options: DraftOptions): object | Problem {
    const { kind, base } = options
    const content = normalizeDates(options.content, this.dateTimes)
    const contradiction = this.#findContradiction(content, options)
    if (contradiction !== undefined) return contradiction
    const filled = kind === 'update' ? content : this.#fill(content, options)
    const failures = this.#validators.draft(filled)
    if (failures !== undefined) return validationProblem(failures)
    // The schema accepts only objects.
    const item = filled as JsonObject
    if (base === undefined) return this.#stampNew(item)
    return this.#checkUnchanged(base, item, 'immutable') ?? this.#stampUpdated(item, base)
  }

  /** What the content states must agree with the URI, the scope, and readOnly properties. */
  #findContradiction (content: unknown, { kind, base, id, fixed, scope }: DraftOptions): Problem | undefined {
    if (!isObject(content)) return undefined
    if (kind === 'update') {
      return this.#checkUnchanged(base!, content, 'readOnly') ?? (fixed && this.checkFixed(content, fixed))
    }
    const wrong = (fixed && findDifferent(content, fixed)) ??
      (id !== undefined && Object.hasOwn(content, this.id.property) && content[this.id.property] !== id
        ? { property: this.id.property, value: id }
        : undefined)
    if (wrong !== undefined) return differsFromUri(wrong.property, wrong.value)
    return kind === 'create' && scope !== undefined ? checkScopeValues(content, scope) : undefined
  }

  /** A complete item must have the values that the URI sets. */
  checkFixed (item: object, fixed: Readonly<Record<string, Id>>): Problem | undefined {
    for (const [property, value] of Object.entries(fixed)) {
      if (Reflect.get(item, property) !== value) return differsFromUri(property, value)
    }
    return undefined
  }

  /** Adds what the client cannot send, or has left out. */
  #fill (content: unknown, { kind, base, id, fixed, scope }: DraftOptions): unknown {
    const { properties, dateTimes } = this
    const known: JsonObject = {}
    if (scope !== undefined) Object.assign(known, base === undefined ? scope : pickStored(scope, base))
    // If neither the URI nor the library sets the id, the client or the storage does.
    const ownId = id ?? this.id.create?.()
    if (ownId !== undefined) known[this.id.property] = ownId
    if (fixed !== undefined) Object.assign(known, fixed)
    const whole = kind === 'create'
      ? addMissing(omitAnnotated(content, properties, 'readOnly'), known)
      : carryOver(addMissing(removeSecrets(content, properties), known), base, properties)
    return normalizeDates(fillDefaults(whole, properties), dateTimes)
  }

  /** The item was parsed from this request, so no other code refers to it. */
  #stampNew (item: JsonObject): object {
    const { created, updated } = this.timestamps
    const now = getTimestamp()
    if (created !== undefined) item[created] = now
    if (updated !== undefined) item[updated] = now
    return item
  }

  #stampUpdated (item: object, base: object): object {
    const { updated } = this.timestamps
    return updated === undefined ? item : { ...item, [updated]: getNextTimestamp(Reflect.get(base, updated)) }
  }

  /** Validates the draft as a whole, if there is no `hooks.beforeValidation`. */
  complete (draft: object): object | Problem {
    const { draft: validateDraft, item: validate } = this.#validators
    const failures = validate === validateDraft ? undefined : validate(draft)
    return failures === undefined ? draft : this.#toProblem(failures)
  }

  /**
   * Validates what a function of the app has returned, and returns a copy, since the app may keep and change it. Throws
   * if it is not an item, or has another id.
   */
  accept (returned: unknown, by: ReturnedItem): object | Problem {
    return this.#acceptCopy(toJsonValue(returned), by)
  }

  #acceptCopy (copy: unknown, { source, id }: ReturnedItem): object | Problem {
    const item: unknown = normalizeDates(copy, this.dateTimes)
    if (!isObject(item)) {
      throw new TypeError(`${source} of the collection ${this.name} returned no item. Return the item to write.`)
    }
    const failures = this.#validators.returned(item)
    if (failures !== undefined) return this.#toProblem(failures)
    if (id !== undefined && item[this.id.property] !== id) {
      throw new TypeError(`${source} of the collection ${this.name} changed the id. ` +
        'Return the item with the id that it has.')
    }
    // A schema such as Type.Unknown() accepts them.
    const nonJson = findNonJson(item)
    if (nonJson !== undefined) {
      throw new TypeError(`${source} of the collection ${this.name} returned an item with a value that JSON does not ` +
        `have: ${nonJson}. Return text, a number, a boolean, null, an array or an object instead.`)
    }
    return item
  }

  /** The same for an item that replaces another one. The library sets its timestamps. */
  acceptChanged (returned: unknown, base: object, by: ReturnedItem): object | Problem {
    const { created, updated } = this.timestamps
    const item = toJsonValue(returned)
    if (isObject(item)) {
      if (created !== undefined) item[created] = Reflect.get(base, created)
      if (updated !== undefined) item[updated] = getNextTimestamp(Reflect.get(base, updated))
    }
    return this.#acceptCopy(item, by)
  }

  /** Checks an item that is valid by its JSON Schema with the library of the schema, which can change values. */
  refine (item: object, options: RefinedItem = {}): object | Problem | Promise<object | Problem> {
    const { isDraft = false, id, fixed } = options
    const { refinement, properties, hidden, dateTimes, id: { property } } = this
    if (refinement === undefined) return item
    const placeholder = Object.hasOwn(item, property) ? undefined : createPlaceholder(this.id)
    const whole = placeholder === undefined ? item : { ...item, [property]: placeholder }
    const { draft, returned } = this.#validators
    const refined = refineValue(refinement, whole, {
      source: `Collection ${this.name}`,
      properties,
      hidden,
      isDraft,
      findFailures: isDraft ? draft : returned
    })
    return continueWith(refined, ({ failures, value }) => {
      if (failures !== undefined) return this.#toProblem(failures)
      if (value === whole) return item
      const { [property]: ownId, ...others } = value as JsonObject
      if (id !== undefined && ownId !== id) return differsFromUri(property, id as Id)
      const changed = normalizeDates(placeholder === undefined ? value : others, dateTimes)
      return (fixed && this.checkFixed(changed, fixed)) ?? changed
    })
  }

  /** Names no properties that are hidden from the caller: a hook or the scope has set them. */
  #toProblem (failures: readonly Failure[]): Problem {
    const { hidden } = this
    if (hidden === undefined) return validationProblem(failures)
    const visible = failures.filter(({ pointer }) => !hidden.has(parsePointer(pointer)?.[0] ?? ''))
    const isPart = visible.length < failures.length
    return validationProblem(isPart ? [...visible, { pointer: '', message: hiddenMessage }] : visible)
  }

  /** Whether an item equals the stored one, apart from the time of its update. */
  isUnchanged (base: object, item: object): boolean {
    const { updated } = this.timestamps
    for (const name of Object.keys(item)) {
      if (!Object.hasOwn(base, name)) return false
      if (name !== updated && !isEqual(Reflect.get(item, name), Reflect.get(base, name))) return false
    }
    return Object.keys(item).length === Object.keys(base).length
  }

  /** Returns the item as the caller sees it: without writeOnly and hidden properties. The app sees all. */
  show (item: object): object {
    if (this.#showsAll) return item
    // An object stays one.
    return omitAnnotated(item, this.properties, 'writeOnly') as object
  }

  /** Returns the version of what the caller sees. If properties are hidden, it does not reveal when those change. */
  getVersion (entry: Entry<object>): string {
    if (this.hidden === undefined) return entry.version
    let digest = this.#versions.get(entry)
    if (digest === undefined) {
      digest = hash('sha1', JSON.stringify(this.show(entry.item)), 'base64url')
      this.#versions.set(entry, digest)
    }
    return digest
  }

  /** Returns what is wrong with a draft; undefined if it is valid. */
  findFailures (draft: unknown): readonly Failure[] | undefined {
    return this.#validators.draft(draft)
  }

  /** A caller cannot send a property that it does not see: for that caller it does not exist. */
  checkHidden (content: unknown): Problem | undefined {
    const { hidden } = this
    if (hidden === undefined) return undefined
    const find = (item: unknown): string[] => isObject(item) ? Object.keys(item).filter((name) => hidden.has(name)) : []
    const paths = Array.isArray(content)
      ? content.flatMap((item, index) => find(item).map((name) => [String(index), name]))
      : find(content).map((name) => [name])
    if (paths.length === 0) return undefined
    const errors = listFailures(paths, 'is not a known property')
    return problem('validation-failed', { detail: 'The content has unknown properties.', properties: { errors } })
  }

  /** Returns the result of a patch with the hidden properties of the stored item, whatever the patch did to it. */
  restoreHidden (result: unknown, base: object): unknown {
    if (this.hidden === undefined || !isObject(result)) return result
    const names = [...this.hidden].filter((name) => Object.hasOwn(base, name))
    return { ...result, ...Object.fromEntries(names.map((name) => [name, Reflect.get(base, name)])) }
  }

  /** 422 if the write changes a property that is `readOnly` or `immutable`. */
  #checkUnchanged (base: object, item: object, mark: Annotation): Problem | undefined {
    const { properties, dateTimes } = this
    let paths = findChanges(base, item, properties, mark)
    // The date-times of the stored item may not be normalized: other programs write to the database as well.
    if (paths.length > 0 && dateTimes !== undefined) {
      paths = findChanges(normalizeDates(base, dateTimes), item, properties, mark)
    }
    if (paths.length === 0) return undefined
    const message = mark === 'readOnly' ? 'is read-only' : 'cannot be changed once it is set'
    return validationProblem(listFailures(paths, message))
  }
}

/** How the type for some callers differs. */
interface TypeVariant {
  readonly messages: MessageSchemas
  readonly digest: string
  readonly validators: Validators
  readonly schema?: JsonSchema
  /** The schema that the properties are read from, if it is another one. */
  readonly described?: JsonSchema
  readonly hidden?: ReadonlySet<string>
  readonly showsAll?: boolean
}

/** Compiling takes most of the time of `define()`. */
function compileValidators ({ name, schema, id, timestamps, isCompleted, isReturned }: ItemTypeOptions): Validators {
  const trusted = [id.assured ? id.property : undefined, timestamps.created, timestamps.updated]
    .filter((property) => property !== undefined)
  const draft = compileSchema(name, rewriteSchema(trustProperties(schema, trusted), { optional: ['readOnly'] }))
  if (!isCompleted && !isReturned) return { draft, item: draft, returned: draft }
  const stored = id.generate === 'storage' ? makeOptional(schema, id.property) : schema
  const whole = compileSchema(name, rewriteSchema(stored, {}))
  return { draft, item: isCompleted ? whole : draft, returned: whole }
}

/** Returns the schema in which clients can neither read nor write the hidden properties. */
function hideProperties (schema: JsonSchema, hidden: ReadonlySet<string>): JsonSchema {
  const marks = (mark: 'readOnly' | 'writeOnly'): Record<string, typeof mark> => {
    return Object.fromEntries([...hidden].map((property) => [property, mark]))
  }
  const readOnly = addAnnotations({ ...schema, properties: { ...schema.properties } }, marks('readOnly'))
  return addAnnotations(readOnly, marks('writeOnly'))
}

const sampleIds = ['1', '1000000', '0199a8f0-5c1e-7b3a-9d42-6f1e2a3b4c5d']

/** A library checks an object only if it has all its properties. The storage sets this one later. */
function createPlaceholder ({ generate, read }: Identity): Id | undefined {
  if (generate !== 'storage') return undefined
  for (const sample of sampleIds) {
    const id = read(sample)
    if (id !== undefined) return id
  }
  return undefined
}

/** Returns a value that the content states otherwise. */
function findDifferent (
  content: JsonObject,
  values: Readonly<Record<string, Id>>
): { readonly property: string, readonly value: Id } | undefined {
  for (const [property, value] of Object.entries(values)) {
    if (Object.hasOwn(content, property) && content[property] !== value) return { property, value }
  }
  return undefined
}

/** An id in the content is read-only and ignored, but one that differs from the URI is a mistake. */
function differsFromUri (property: string, value: Id): Problem {
  const message = `differs from the URI, which has ${JSON.stringify(value)}`
  return validationProblem([{ pointer: toPointer([property]), message }])
}

/** The content may repeat the values that the scope sets, but not contradict them. */
function checkScopeValues (content: JsonObject, values: Readonly<Record<string, unknown>>): Problem | undefined {
  const wrong = Object.keys(values).filter((property) => {
    return Object.hasOwn(content, property) && !isEqual(content[property], values[property])
  })
  if (wrong.length === 0) return undefined
  return validationProblem(wrong.map((property) => ({
    pointer: toPointer([property]),
    message: `must be ${JSON.stringify(values[property])}, or be left out`
  })))
}

/** The values of the scope for a PUT that leaves them out: those of the stored item. */
function pickStored (values: Readonly<Record<string, unknown>>, base: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).map(([property, value]) => {
    return [property, Object.hasOwn(base, property) ? Reflect.get(base, property) : value]
  }))
}

/** Adds these values for the properties that the content leaves out. */
function addMissing (content: unknown, values: JsonObject): unknown {
  return isObject(content) ? { ...values, ...content } : content
}
