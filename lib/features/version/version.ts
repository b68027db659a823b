import { defineVersion, mergeOptions } from '../../define.ts'
import { toCollection } from '../../collection.ts'
import type { Definition } from '../../collection.ts'
import { BadOption } from '../../errors.ts'
import { HookError } from '../../failure.ts'
import { Problem } from '../../http/problems.ts'
import { buildNewItem, getImposedValues } from '../../items/create.ts'
import { buildReplacement } from '../../items/revise.ts'
import type { Change, CommittedChange, HookOptions, Options } from '../../options.ts'
import type { Request } from '../../request/request.ts'
import { normalizeDates, findDateTimes } from '../../schema/date-times.ts'
import type { ItemOf, PropertyOf, ObjectSchema } from '../../schema/static.ts'
import type { Id, JsonSchema } from '../../storage/contract.ts'
import { checkRestated, getInherited, sharedProperties } from './options.ts'
import { propertyIn, versionedStorage } from './storage.ts'
import type { Origins } from './storage.ts'

/** What the older version has of its own. All else is as the current one has it. */
type Restated = 'name' | 'schema' | 'storage' | 'id' | 'unique' | 'hooks'

interface Mapping<Item extends object, Schema extends ObjectSchema> {
  /** The path segment, where it is another. */
  name?: string
  /** What an item was. */
  schema: Schema
  /** What an item is to a client of this version. */
  present: (item: Readonly<Item>) => ItemOf<Schema>
  /** What a client of the current version would have sent. What is left out stays as it is; undefined takes it away. A throw refuses the write. */
  accept: (item: Readonly<ItemOf<Schema>>, before: Readonly<Item> | undefined) => { [Property in keyof Item]?: Item[Property] | undefined }
  /** Properties that have another name now, and the same values. */
  renamed?: { readonly [Property in PropertyOf<ItemOf<Schema>>]?: PropertyOf<Item> }
}

export type VersionOptions<Item extends object, Schema extends ObjectSchema> = Mapping<Item, Schema> & Omit<Options<Schema>, Restated>

/**
 * An older version of a collection, over the same storage.
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
export function version<Item extends object, const Schema extends ObjectSchema> (definition: Definition<Item>, label: string, options: VersionOptions<Item, Schema>): Definition<ItemOf<Schema>> {
  const current = toCollection(definition)
  const { present, accept, renamed = {}, ...stated } = options
  const { name = current.name } = stated
  if (!/^[\w.-]+$/.test(label)) throw new BadOption(name, `the version is called ${JSON.stringify(label)}, which cannot stand in an entity tag. Use letters, digits, "-", "_" or ".", such as "v1".`)
  if (typeof present !== 'function' || typeof accept !== 'function') throw new BadOption(name, 'a version needs the functions present and accept.')
  checkRestated(current, name, stated.access)
  const origins: Origins<Item> = { entry: new WeakMap(), draft: new WeakMap() }
  // TypeBox schemas are JSON Schema; their interfaces have no index signature to say so.
  const schema = stated.schema as unknown as JsonSchema
  const lists = sharedProperties({ current, name, schema }, { ...stated.list, renamed })
  const dateTimes = findDateTimes(schema, current.id.property)

  async function convert ({ item, before, caller, request }: Change<ItemOf<Schema>>): Promise<ItemOf<Schema> | Problem> {
    const known = before && origins.entry.get(before)
    const content = accept(item, known?.item)
    const whole = known === undefined ? await create(item, content, { caller, request }) : await revised(known.item)
    if (whole instanceof Problem) return whole
    // In the form that the item is written in: it is known again by its identity.
    const told = normalizeDates(present(whole), dateTimes)
    origins.draft.set(told, whole)
    return told

    // By the rules of the current version, which makes an item of the same type.
    async function revised (was: Readonly<Item>): Promise<Item | Problem> {
      return await buildReplacement(current, toRequest({ caller, request }), { content: defined({ ...was, ...content }), before: known! }) as Item | Problem
    }
  }

  async function create (item: object, content: object, call: Call): Promise<Item | Problem> {
    const id: Id | undefined = Reflect.get(item, current.id.property)
    const values = getReadOnlyValues(item)
    const whole = { ...defined(content), ...values }
    return await buildNewItem(current, toRequest(call, values), { content: whole, ...id !== undefined && { id } }) as Item | Problem
  }

  /** Of what the scope and the URI have set in the older item, the properties that only they can set in the current one. */
  function getReadOnlyValues (item: object): Record<string, unknown> {
    return Object.fromEntries(Object.entries(getImposedValues(item))
      .map(([property, value]) => [propertyIn(renamed, property), value] as const)
      .filter(([property]) => current.properties.named.get(property)?.readOnly === true))
  }

  async function afterCommit ({ before, after, ...rest }: CommittedChange<ItemOf<Schema>>): Promise<void> {
    await current.hooks.afterCommit?.({
      ...rest,
      before: before && origins.entry.get(before)?.item,
      after: after && origins.entry.get(after)?.item
    })
  }

  const hooks: HookOptions<ItemOf<Schema>> = {
    beforeValidation: (change) => unwrapped(convert(change) as Promise<ItemOf<Schema>>),
    ...current.hooks.afterCommit !== undefined && { afterCommit }
  }
  const own = mergeOptions(getInherited(current), stated as unknown as Options<Schema>)
  const whole = {
    ...own,
    list: { ...own.list, ...lists },
    name,
    id: { property: current.id.property, generate: current.id.generate },
    storage: () => versionedStorage(current.storage, { label, present, renamed }, origins),
    hooks
  }
  // The properties that it names are those of the schema: sharedProperties has found them there.
  return defineVersion(current, whole as unknown as Options<Schema>)
}

type Call = Pick<Change<object>, 'caller' | 'request'>

/** What building an item reads of a request. The filter of the scope is checked on the older item. */
function toRequest ({ caller, request }: Call, values: Record<string, unknown> = {}): Request {
  return { original: request, caller, fixed: undefined, scope: { filter: { all: [] }, values } } as unknown as Request
}

function defined (content: object): object {
  return Object.fromEntries(Object.entries(content).filter(([, value]) => value !== undefined))
}

/** What a hook of the current version throws is told as if it were this one's. */
async function unwrapped<Item> (item: Promise<Item>): Promise<Item> {
  try {
    return await item
  } catch (thrown) {
    throw thrown instanceof HookError ? thrown.cause : thrown
  }
}
