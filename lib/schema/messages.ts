import type { JsonSchema } from '../storage/contract.ts'
import { derived, lacking } from './derived.ts'

/** What the content of each kind of message looks like. What a client sends is only described by it, so that it is derived when it is first asked for. */
export class Messages {
  readonly read: JsonSchema
  readonly #schema: JsonSchema
  #create: JsonSchema | undefined
  #replace: JsonSchema | undefined
  #patch: JsonSchema | undefined

  /** `concealed` are the properties that not every caller sees. */
  constructor (schema: JsonSchema, concealed: readonly string[] = []) {
    this.#schema = schema
    this.read = concealed.reduce(lacking, derived(schema, { drop: 'writeOnly' }))
  }

  get create (): JsonSchema {
    this.#create ??= derived(this.#schema, { drop: 'readOnly', filled: true })
    return this.#create
  }

  get replace (): JsonSchema {
    this.#replace ??= derived(this.#schema, { drop: 'readOnly', optional: ['writeOnly'], filled: true })
    return this.#replace
  }

  /** Of a merge patch (RFC 7396). */
  get patch (): JsonSchema {
    this.#patch ??= derived(this.#schema, { drop: 'readOnly', partial: true })
    return this.#patch
  }
}
