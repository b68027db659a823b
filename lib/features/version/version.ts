import { defineVersion } from '../../define.ts'
import { checkKnownOptions, mergeOptions } from '../../option-table.ts'
import { isDefinition, toCollection } from '../../collection.ts'
import type { Collection, Definition } from '../../collection.ts'
import { BadOption } from '../../errors.ts'
import { formatValue } from '../../format-value.ts'
import { HookError } from '../../failure.ts'
import { isObject } from '../../http/json-value.ts'
import { Problem } from '../../http/problems.ts'
import { buildItem } from '../../engine/build.ts'
import type { BuiltItem, ItemOperation } from '../../engine/build.ts'
import { getView } from '../../engine/view.ts'
import type { Change, CommittedChange, HookOptions, Options, PendingWrite, StoredWrite } from '../../options.ts'
import { normalizeDates, findDateTimes } from '../../schema/date-times.ts'
import { convertSchema } from '../../schema/standard-schema.ts'
import type { ItemOf, PropertyOf, ObjectSchema } from '../../schema/static.ts'
import type { Entry, Id } from '../../storage/contract.ts'
import {
  checkExplicitAccess,
  checkExplicitOptions,
  checkParent,
  checkReferences,
  deriveLists,
  getInherited
} from './options.ts'
import { createVersionStorage, toCurrentProperty } from './storage.ts'
import type { Origins } from './storage.ts'

/** The options of `define()` that a version sets itself or replaces with its own. */
type OwnOptions = 'name' | 'schema' | 'storage' | 'id' | 'unique' | 'hooks'

interface Mapping<Item extends object, Schema extends ObjectSchema> {
  /** The path segment. That of the current version by default. */
  name?: string
  /** The schema of an item in this version. */
  schema: Schema
  /** Returns an item as clients of this version see it. */
  present: (item: Readonly<Item>) => ItemOf<Schema>
  /**
   * Returns what a client of the current version would have sent. Properties that are left out stay as they are; those
   * that are undefined are removed. A throw refuses the write.
   */
  accept: (
    item: Readonly<ItemOf<Schema>>,
    before: Readonly<Item> | undefined
  ) => { [Property in keyof Item]?: Item[Property] | undefined }
  /** The properties that have another name in the current version, and the same values. */
  renamed?: { readonly [Property in PropertyOf<ItemOf<Schema>>]?: PropertyOf<Item> }
}

/** The options of `version()`: how items are converted, and options of the definition that differ. */
export type VersionOptions<Item extends object, Schema extends ObjectSchema> =
  Mapping<Item, Schema> & Omit<Options<Schema>, OwnOptions>

/**
 * Defines an older version of a collection, with the same storage.
 *
 * @example
 * const usersV1 = version(users, 'v1', {
 *   schema: UserV1,
 *   present: ({ id, email }) => ({ id, mail: email }),
 *   accept: ({ mail }) => ({ email: mail }),
 *   renamed: { mail: 'email' }
 * })
 * await app.register(collection, { ...usersV1, prefix: '/v1' })
 */
export function version<Item extends object, const Schema extends ObjectSchema> (
  definition: Definition<Item>,
  label: string,
  options: VersionOptions<Item, Schema>
): Definition<ItemOf<Schema>> {
  if (!isDefinition(definition)) {
    throw new BadOption(label, 'version() needs the current collection that define() returned as its first argument.')
  }
  const current = toCollection(definition)
  if (!isObject(options)) {
    throw new BadOption(current.name, 'version() needs an object with schema, present and accept ' +
      'as its third argument.')
  }
  const { present, accept, renamed = {}, ...explicit } = options
  const { name = current.name } = explicit
  if (typeof label !== 'string' || !/^[\w.-]+$/.test(label)) {
    throw new BadOption(name, `the name ${formatValue(label)} of the version cannot be part of an entity tag. ` +
      'Use letters, digits, "-", "_" or ".", as in "v1".')
  }
  if (typeof present !== 'function' || typeof accept !== 'function') {
    throw new BadOption(name, 'a version needs the functions present and accept. Add both.')
  }
  checkExplicitOptions(name, { renamed, explicit })
  checkKnownOptions(name, explicit)
  checkExplicitAccess(current, name, explicit.access)
  checkParent(current, name)
  checkReferences(current, name, explicit.actions)
  const origins: Origins<Item> = { entry: new WeakMap(), draft: new WeakMap() }
  const { schema } = convertSchema(name, explicit.schema)
  const lists = deriveLists({ current, name, schema }, { ...explicit.list, renamed })
  const dateTimes = findDateTimes(schema, current.id.property)

  /** Builds the current item by the rules of the current version, and returns it as an item of this version. */
  async function convert (change: Change<ItemOf<Schema>>): Promise<ItemOf<Schema> | Problem> {
    const { item, before } = change
    const known = before && origins.entry.get(before)
    const content = accept(item, known?.item)
    const decided = known === undefined
      ? await createItem(content, change)
      : await replaceItem(known, content, change)
    if (decided instanceof Problem) return decided
    // The current version builds items of its own type.
    const built = decided.item as Item
    // Dates are normalized here, because the storage finds the draft by the identity of the object.
    const presented = normalizeDates(present(built), dateTimes)
    origins.draft.set(presented, built)
    return presented
  }

  async function createItem (accepted: object, change: Change<object>): Promise<BuiltItem | Problem> {
    const id: Id | undefined = Reflect.get(change.item, current.id.property)
    const values = getReadOnlyValues(change.imposed)
    const content = { ...omitUndefined(accepted), ...values }
    return buildItem(toOperation(current, change, values), { kind: 'create', content, id })
  }

  async function replaceItem (before: Entry<Item>, accepted: object, origin: Origin): Promise<BuiltItem | Problem> {
    const content = omitUndefined({ ...before.item, ...accepted })
    return buildItem(toOperation(current, origin), { kind: 'replace', content, before })
  }

  /** Of the values that the scope and the URI set, those of properties that are readOnly in the current version. */
  function getReadOnlyValues (imposed: object): Record<string, unknown> {
    return Object.fromEntries(Object.entries(imposed)
      .map(([property, value]) => [toCurrentProperty(renamed, property), value] as const)
      .filter(([property]) => current.type.properties.named.get(property)?.readOnly === true))
  }

  async function afterCommit ({ before, after, ...rest }: CommittedChange<ItemOf<Schema>>): Promise<void> {
    await current.hooks.afterCommit?.({
      ...rest,
      before: before && origins.entry.get(before)?.item,
      after: after && origins.entry.get(after)?.item
    })
  }

  async function beforeWrite (write: PendingWrite<ItemOf<Schema>>): Promise<ItemOf<Schema> | void> {
    const before = write.before && origins.entry.get(write.before)?.item
    if (write.action === 'remove') {
      await current.hooks.beforeWrite!({ ...write, before })
      return
    }
    const draft = origins.draft.get(write.item)!
    const returned = await current.hooks.beforeWrite!({ ...write, before, item: draft })
    if (returned === undefined) return
    const id: unknown = Reflect.get(draft, current.id.property)
    const accepted = current.type.accept(returned, { source: 'The hook beforeWrite', id })
    if (accepted instanceof Problem) throw accepted
    const built = await current.type.refine(accepted, { id })
    if (built instanceof Problem) throw built
    // The hook returned an item of the current version, and it is valid.
    const presented = normalizeDates(present(built as Item), dateTimes)
    origins.draft.set(presented, built as Item)
    return presented
  }

  async function afterWrite ({ before, after, ...rest }: StoredWrite<ItemOf<Schema>>): Promise<void> {
    await current.hooks.afterWrite!({
      ...rest,
      before: before && origins.entry.get(before)?.item,
      after: after && origins.entry.get(after)?.item
    })
  }

  const hooks: HookOptions<ItemOf<Schema>> = {
    beforeValidation: (change) => unwrapHookError(convert(change) as Promise<ItemOf<Schema>>),
    ...current.hooks.beforeWrite !== undefined && { beforeWrite },
    ...current.hooks.afterWrite !== undefined && { afterWrite },
    ...current.hooks.afterCommit !== undefined && { afterCommit }
  }
  const merged = mergeOptions(getInherited(current), explicit as unknown as Options<Schema>)
  const whole = {
    ...merged,
    list: { ...merged.list, ...lists },
    name,
    id: { property: current.id.property, generate: current.id.generate },
    storage: () => createVersionStorage(current.storage, { label, present, renamed }, origins),
    hooks
  }
  // The properties in `list` are those of the schema: deriveLists has found them there.
  return defineVersion(current, whole as unknown as Options<Schema>)
}

type Origin = Pick<Change<object>, 'customAction' | 'caller' | 'initiator' | 'request'>

/** The filter of the scope is checked on the older item. */
function toOperation (
  current: Collection,
  { customAction, caller, initiator, request }: Origin,
  values: Record<string, unknown> = {}
): ItemOperation {
  const scope = { filter: { all: [] }, values }
  const view = getView(current)
  return { collection: current, request, customAction, caller, initiator, fixed: undefined, scope, view }
}

function omitUndefined (content: object): object {
  return Object.fromEntries(Object.entries(content).filter(([, value]) => value !== undefined))
}

/** An error of a hook of the current version is handled like an error of a hook of this version. */
async function unwrapHookError<Item> (item: Promise<Item>): Promise<Item> {
  try {
    return await item
  } catch (thrown) {
    throw thrown instanceof HookError ? thrown.cause : thrown
  }
}
