import { BadId } from '../errors/errors.ts'
import { formatValue } from '../errors/format-value.ts'
import { compileSchema } from './checks.ts'
import type { GenerateId, Id, JsonSchema, Shape } from '../storage/contract.ts'
import { isUuid, createUuid } from './uuid.ts'

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

const sources = new Set(['uuid', 'client', 'storage'])

/** Checks the option `id` and the schema of the id. */
export function readIdentity (name: string, schema: JsonSchema, options: Partial<Shape['id']> = {}): Identity {
  const { property = 'id', generate = 'uuid' } = options
  const described = schema.properties?.[property]
  if (described === undefined) {
    throw new BadId(name, `the schema has no property "${property}". ` +
      'Add id: Type.String({ format: \'uuid\', readOnly: true }), or id: z.uuid().meta({ readOnly: true }) with zod, ' +
      'or name the property that is in the URI, as in id: { property: \'slug\', generate: \'client\' }.')
  }
  if (property.includes('.')) {
    throw new BadId(name, `the name of the property "${property}" contains a dot, ` +
      'so a storage would look for it inside another property. Rename it.')
  }
  if (schema.required?.includes(property) !== true) {
    throw new BadId(name, `the property "${property}" is optional, but every item needs an id. ` +
      'Remove Type.Optional, or optional() of the library.')
  }
  if (typeof generate !== 'function' && !sources.has(generate)) {
    throw new BadId(name, `id.generate is ${formatValue(generate)}. ` +
      'Use "uuid", "client", "storage" or a function that returns an id.')
  }
  const validate = compileSchema(name, described)
  const create = getGenerator(generate)
  const assured = create === createUuid && Object.keys(described).every((keyword) => uuidKeywords.has(keyword))
  const read = createIdParser(described, validate, { lowerCase: create === createUuid, assured })
  const sample = create?.()
  if (sample !== undefined && (validate(sample) !== undefined || read(String(sample)) !== sample)) {
    throw new BadId(name, `an id such as ${formatValue(sample)} is invalid for the schema of "${property}". ` +
      'Use Type.String({ format: \'uuid\' }), or z.uuid() with zod, ' +
      'or say where the id comes from with id: { generate: \'client\' | \'storage\' | () => ... }.')
  }
  return { property, generate, create, read, assured }
}

function getGenerator (generate: GenerateId): (() => Id) | undefined {
  if (typeof generate === 'function') return generate
  return generate === 'uuid' ? createUuid : undefined
}

/** A schema with no other keywords than these accepts every UUID. */
const uuidKeywords = new Set(['type', 'format', 'readOnly', 'title', 'description', 'examples'])

/** RFC 3986, section 5.2.4: clients remove such segments from a path before they send it. */
const unaddressable = new Set(['', '.', '..'])

function createIdParser (
  schema: JsonSchema,
  validate: (value: unknown) => unknown,
  { lowerCase, assured }: { lowerCase: boolean, assured: boolean }
): Identity['read'] {
  if (schema.type === 'integer' || schema.type === 'number') {
    return (segment) => {
      const id = Number(segment)
      return Number.isSafeInteger(id) && String(id) === segment && validate(id) === undefined ? id : undefined
    }
  }
  return (segment) => {
    if (assured && isUuid(segment)) return segment
    // RFC 9562, section 4: a UUID is read in any letter case. Ours are written in lower case.
    const id = lowerCase ? segment.toLowerCase() : segment
    return !unaddressable.has(id) && !id.includes('\0') && validate(id) === undefined ? id : undefined
  }
}
