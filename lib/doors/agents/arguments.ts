import { isObject } from '../../http/json-value.ts'
import { toPointer } from '../../http/json-pointer.ts'
import type { Problem } from '../../http/problems.ts'
import { maxFailures, validationProblem } from '../../schema/failures.ts'
import type { Failure } from '../../schema/failures.ts'
import type { JsonSchema } from '../../storage/contract.ts'
import type { ArgumentName, Needs } from './actions.ts'

// The arguments of a call: what each must be, and what an agent reads about it.

/** An argument, whatever the collection is. */
interface Argument {
  readonly schema: JsonSchema
  /** What it must be. */
  readonly expected: string
  accepts (value: unknown): boolean
}

const maxLength = 255
/** Shorter ones, such as 1, are used again for another call. */
const minKeyLength = 8

const isText = (value: unknown, minimum = 1): value is string => {
  return typeof value === 'string' && value.length >= minimum && value.length <= maxLength
}
const id: Pick<Argument, 'expected' | 'accepts'> = {
  expected: 'a text or a whole number',
  accepts: (value) => isText(value) || Number.isSafeInteger(value)
}
const object: Pick<Argument, 'expected' | 'accepts'> = { expected: 'an object', accepts: isObject }

export const agentArguments: Readonly<Record<ArgumentName, Argument>> = {
  parent: { ...id, schema: { type: ['string', 'integer'], description: 'The id of the item that contains them.' } },
  id: { ...id, schema: { type: ['string', 'integer'], description: 'The id of the item.' } },
  tag: {
    expected: 'the tag of the item, as you got it',
    accepts: (value) => isText(value),
    schema: { type: 'string', description: 'The tag that you got with the item.' }
  },
  key: {
    expected: `a text of ${minKeyLength} to ${maxLength} characters`,
    accepts: (value) => isText(value, minKeyLength),
    schema: {
      type: 'string',
      minLength: minKeyLength,
      maxLength,
      description: 'A new random text for each call. Only a repeated call has the same one: it is not done twice.'
    }
  },
  item: { ...object, schema: { type: 'object', description: 'The new item.' } },
  patch: {
    ...object,
    schema: { type: 'object', description: 'What changes (JSON Merge Patch). null removes a property.' }
  },
  input: { ...object, schema: { type: 'object', description: 'The input of the action.' } },
  query: { ...object, schema: { type: 'object', description: 'Such as { filter, sort, fields, limit, cursor }.' } }
}

/** The arguments of a call that are complete, and of the right kinds. */
export interface CallArguments {
  readonly parent?: string
  readonly id?: string
  readonly tag?: string
  readonly key?: string
  /** The item, the patch or the input. */
  readonly content: unknown
  readonly query: Readonly<Record<string, unknown>>
  /** Everything but the key. */
  readonly requested: Readonly<Record<string, unknown>>
}

/** Reads the arguments of a call. A problem lists everything that is wrong, by its JSON Pointer. */
export function readArguments (needs: Needs, given: Readonly<Record<string, unknown>>): CallArguments | Problem {
  const failures: Failure[] = []
  for (const name of Object.keys(given).slice(0, maxFailures)) {
    if (needs.has(name as ArgumentName)) continue
    const message = `is not a known argument. Known arguments: ${[...needs.keys()].join(', ')}`
    failures.push({ pointer: toPointer([name]), message })
  }
  for (const [name, need] of needs) {
    const { accepts, expected } = agentArguments[name]
    const value = given[name]
    const pointer = `/${name}`
    if (value === undefined && need === 'required') failures.push({ pointer, message: 'is required' })
    if (value !== undefined && !accepts(value)) failures.push({ pointer, message: `must be ${expected}` })
  }
  if (failures.length > 0) return validationProblem(failures)
  const { parent, id, tag, key, item, patch, input = {}, query = {} } = given
  return {
    ...parent !== undefined && { parent: String(parent) },
    ...id !== undefined && { id: String(id) },
    // They were accepted above.
    ...tag !== undefined && { tag: tag as string },
    ...key !== undefined && { key: key as string },
    content: item ?? patch ?? input,
    query: query as Record<string, unknown>,
    requested: { ...given, key: undefined }
  }
}
