import { BadId } from '../errors.ts'
import { compiled } from '../schema/checks.ts'
import type { Id, JsonSchema } from '../storage/contract.ts'
import { isUuid, uuid } from '../schema/uuid.ts'

/** How the items of a collection are called. */
export interface Identity {
  readonly member: string
  readonly by: 'library' | 'client' | 'storage'
  /** Makes the id of a new item; undefined where the client or the storage gives it. */
  readonly mint: (() => Id) | undefined
  /** The id that a path segment means; undefined where no item can have it. */
  readonly read: (segment: string) => Id | undefined
  /** Whether what is made or read here fits the schema, so that nobody has to look again. */
  readonly assured: boolean
}

export interface IdentityOptions {
  readonly member?: string
  readonly by?: Identity['by'] | (() => Id)
}

/** RFC 3986 section 5.2.4: dots are taken out of a path before it is sent. */
const nameless = new Set(['', '.', '..'])

const makers = new Set(['library', 'client', 'storage'])

export function identity (name: string, schema: JsonSchema, options: IdentityOptions = {}): Identity {
  const { member = 'id', by = 'library' } = options
  const described = schema.properties?.[member]
  if (described === undefined) throw new BadId(name, `the schema has no member "${member}". Add id: Type.String({ format: 'uuid', readOnly: true }), or name the member that stands in the URI with id: { member: 'slug', by: 'client' }.`)
  if (member.includes('.')) throw new BadId(name, `the member "${member}" has a dot in its name, so that a storage would look for it inside of another member. Call it otherwise.`)
  if (schema.required?.includes(member) !== true) throw new BadId(name, `the member "${member}" is optional, but every item needs its id. Take the Type.Optional away.`)
  if (typeof by !== 'function' && !makers.has(by)) throw new BadId(name, `id.by is ${JSON.stringify(by)}. Use 'library', 'client', 'storage' or a function that makes an id.`)
  const valid = compiled(name, described)
  const mint = typeof by === 'function' ? by : by === 'library' ? uuid : undefined
  const assured = mint === uuid && Object.keys(described).every(keyword => ofUuid.has(keyword))
  const read = reader(described, valid, { minted: mint === uuid, assured })
  const sample = mint?.()
  if (sample !== undefined && (valid(sample) !== undefined || read(String(sample)) !== sample)) throw new BadId(name, `an id such as ${JSON.stringify(sample)} does not fit the schema of "${member}". Use Type.String({ format: 'uuid' }), or say who makes the id with id: { by: 'client' | 'storage' | () => ... }.`)
  return { member, by: typeof by === 'function' ? 'library' : by, mint, read, assured }
}

/** What a schema says of a UUID where it says no more than that it is one. */
const ofUuid = new Set(['type', 'format', 'readOnly', 'title', 'description', 'examples'])

function reader (schema: JsonSchema, valid: (value: unknown) => unknown, { minted, assured }: { minted: boolean, assured: boolean }): Identity['read'] {
  if (schema.type === 'integer' || schema.type === 'number') {
    return segment => {
      const id = Number(segment)
      return Number.isSafeInteger(id) && String(id) === segment && valid(id) === undefined ? id : undefined
    }
  }
  return segment => {
    if (assured && isUuid(segment)) return segment
    // RFC 9562 section 4: a UUID is read in any letter case, and ours are written in the lower.
    const id = minted ? segment.toLowerCase() : segment
    return !nameless.has(id) && !id.includes('\0') && valid(id) === undefined ? id : undefined
  }
}
