import { BadId } from '../errors.ts'
import { compileSchema } from '../schema/checks.ts'
import type { GenerateId, Id, JsonSchema, Shape } from '../storage/contract.ts'
import { isUuid, createUuid } from '../schema/uuid.ts'

/** How the items of a collection are identified. */
export interface Identity {
  /** The property whose value is in the URI of an item. */
  readonly property: string
  /** Where the id of a new item comes from: a random UUID, the client, the storage, or a function. */
  readonly generate: GenerateId
  /** Generates the id of a new item; undefined if the client or the storage does. */
  readonly create: (() => Id) | undefined
  /** Parses a path segment; returns undefined if no item can have this id. */
  readonly read: (segment: string) => Id | undefined
  /** Whether ids that were generated or parsed here are always valid, so that they need no validation. */
  readonly assured: boolean
}

/** RFC 3986 section 5.2.4: dots are taken out of a path before it is sent. */
const nameless = new Set(['', '.', '..'])

const sources = new Set(['uuid', 'client', 'storage'])

export function identity (name: string, schema: JsonSchema, options: Partial<Shape['id']> = {}): Identity {
  const { property = 'id', generate = 'uuid' } = options
  const described = schema.properties?.[property]
  if (described === undefined) throw new BadId(name, `the schema has no property "${property}". Add id: Type.String({ format: 'uuid', readOnly: true }), or name the property that stands in the URI with id: { property: 'slug', generate: 'client' }.`)
  if (property.includes('.')) throw new BadId(name, `the property "${property}" has a dot in its name, so that a storage would look for it inside of another property. Call it otherwise.`)
  if (schema.required?.includes(property) !== true) throw new BadId(name, `the property "${property}" is optional, but every item needs its id. Take the Type.Optional away.`)
  if (typeof generate !== 'function' && !sources.has(generate)) throw new BadId(name, `id.generate is ${JSON.stringify(generate)}. Use 'uuid', 'client', 'storage' or a function that returns an id.`)
  const valid = compileSchema(name, described)
  const create = typeof generate === 'function' ? generate : generate === 'uuid' ? createUuid : undefined
  const assured = create === createUuid && Object.keys(described).every(keyword => ofUuid.has(keyword))
  const read = reader(described, valid, { lowerCase: create === createUuid, assured })
  const sample = create?.()
  if (sample !== undefined && (valid(sample) !== undefined || read(String(sample)) !== sample)) throw new BadId(name, `an id such as ${JSON.stringify(sample)} does not fit the schema of "${property}". Use Type.String({ format: 'uuid' }), or state where the id comes from with id: { generate: 'client' | 'storage' | () => ... }.`)
  return { property, generate, create, read, assured }
}

/** What a schema says of a UUID where it says no more than that it is one. */
const ofUuid = new Set(['type', 'format', 'readOnly', 'title', 'description', 'examples'])

function reader (schema: JsonSchema, valid: (value: unknown) => unknown, { lowerCase, assured }: { lowerCase: boolean, assured: boolean }): Identity['read'] {
  if (schema.type === 'integer' || schema.type === 'number') {
    return segment => {
      const id = Number(segment)
      return Number.isSafeInteger(id) && String(id) === segment && valid(id) === undefined ? id : undefined
    }
  }
  return segment => {
    if (assured && isUuid(segment)) return segment
    // RFC 9562 section 4: a UUID is read in any letter case, and ours are written in the lower.
    const id = lowerCase ? segment.toLowerCase() : segment
    return !nameless.has(id) && !id.includes('\0') && valid(id) === undefined ? id : undefined
  }
}
