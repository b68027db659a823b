import type { FastifyRequest } from 'fastify'
import { BadOption, BadSchema, Unsupported } from './errors.ts'
import { layered } from './layer.ts'
import { checkMembers, compiled } from './schema/checks.ts'
import type { ItemSchema } from './schema/checks.ts'
import { derived, lacking } from './schema/derived.ts'
import { membersOf } from './schema/members.ts'
import type { Members } from './schema/members.ts'
import { branches } from './schema/subschemas.ts'
import type { Validator } from './schema/validation.ts'
import type { Context, Filter, JsonSchema, Refusal, Storage } from './storage/contract.ts'
import { joinedFilter, scopedBy } from './narrowing.ts'
import { timestamp } from './timestamps.ts'

export interface TombstoneOptions<Member extends string = string> {
  /** A date-time that tells when the item was removed; absent or null as long as it lives. */
  member: Member
  /** Who may see what was removed, and bring it back; without it, nobody. */
  permitted?: (request: FastifyRequest) => boolean | Promise<boolean>
}

/** How a collection keeps what was removed: in its place, with a mark. */
export interface Tombstones<Item = object> {
  /** It tells when the item was removed. */
  readonly member: string
  readonly permitted: TombstoneOptions['permitted']
  /** The storage with all that it has; that of the collection has what lives. */
  readonly whole: Storage<Item>
  readonly living: Storage<Item>
  /** What an item is held to on its way back, where the mark is the client's to take away. */
  readonly open: { readonly schema: JsonSchema, readonly members: Members, readonly draft: Validator }
  /** The member is always there, and null where the item lives. */
  readonly nullable: boolean
}

export interface Kept<Item> {
  readonly schema: ItemSchema
  readonly storage: Storage<Item>
  /** The member that tells when an item last changed. */
  readonly updated: string | undefined
}

export function tombstonesOf<Item extends object> (name: string, { schema, storage, updated }: Kept<Item>, options: TombstoneOptions | undefined): Tombstones<Item> | undefined {
  if (options === undefined) return undefined
  const { member, permitted } = options
  if (permitted !== undefined && typeof permitted !== 'function') throw new BadOption(name, `tombstones.permitted is ${JSON.stringify(permitted)}. It has to be a function.`)
  checkMembers(name, schema, { tombstones: [member] })
  const described = schema.properties[member]!
  const needed = schema.required?.includes(member) === true
  if (![described, ...branches(described)].some(({ format }) => format === 'date-time') || (needed && compiled(name, described)(null) !== undefined)) {
    throw new BadSchema(name, `the member "${member}" tells when an item was removed, so it has to be Type.Optional(Type.String({ format: 'date-time' })), or a union of that with Type.Null() whose default is null.`)
  }
  if (!storage.supports.filter) throw new Unsupported(name, 'tombstones are asked for, which lists have to leave out', storage.name)
  const open: JsonSchema = { ...schema, properties: { ...schema.properties, [member]: { ...described, readOnly: false } } }
  return {
    member,
    permitted,
    whole: storage,
    living: living(storage, { member, is: 'null', value: true }, item => {
      const now = timestamp()
      return { ...item, ...updated !== undefined && { [updated]: now }, [member]: now }
    }),
    open: { schema: open, members: membersOf(open), draft: compiled(name, derived(lacking(open, member), { optional: ['readOnly'] })) },
    nullable: needed
  }
}

const attempts = 20

/** A storage that sees only what lives, in the same step as each verb, and marks what it is to remove. */
function living<Item extends object> (storage: Storage<Item>, lives: Filter, marked: (item: Readonly<Item>) => Readonly<Item>): Storage<Item> {
  const seen = (context: Context): Context => scopedBy(joinedFilter(context.scope, lives), context)
  return layered<Item, Item>(storage, whole => ({
    list: (query, context) => whole.list(query, seen(context)),
    find: (id, context) => whole.find(id, seen(context)),
    insert: (draft, context) => whole.insert(draft, context),
    replace: (id, item, expected, context) => whole.replace(id, item, expected, seen(context)),
    async remove (id, expected, context) {
      const bury = async (): Promise<Refusal | undefined> => {
        const entry = await whole.find(id, seen(context))
        if (entry === undefined) return { refused: 'absent' }
        if (expected !== undefined && entry.version !== expected) return { refused: 'stale' }
        // The version is compared also where none is expected: what another has written in between goes under the mark as it is.
        const result = await whole.replace(id, marked(entry.item), entry.version, seen(context))
        return 'refused' in result ? result : undefined
      }
      let refusal = await bury()
      for (let left = expected === undefined ? attempts : 0; refusal?.refused === 'stale' && left > 0; left--) refusal = await bury()
      return refusal
    }
  }))
}
