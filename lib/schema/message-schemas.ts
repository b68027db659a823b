import type { JsonSchema } from '../storage/contract.ts'
import { makeOptional, rewriteSchema } from './rewrite-schema.ts'

/** The schemas of the content of each kind of message. Those of requests only serve documentation, so they are lazy. */
export class MessageSchemas {
  readonly read: JsonSchema
  readonly #schema: JsonSchema
  #create: JsonSchema | undefined
  #replace: JsonSchema | undefined
  #patch: JsonSchema | undefined

  /** `hidden` lists the properties that some callers cannot see. */
  constructor (schema: JsonSchema, hidden: readonly string[] = []) {
    this.#schema = schema
    this.read = hidden.reduce(makeOptional, rewriteSchema(schema, { drop: 'writeOnly' }))
  }

  get create (): JsonSchema {
    this.#create ??= rewriteSchema(this.#schema, { drop: 'readOnly', filled: true })
    return this.#create
  }

  get replace (): JsonSchema {
    this.#replace ??= rewriteSchema(this.#schema, { drop: 'readOnly', optional: ['writeOnly'], filled: true })
    return this.#replace
  }

  /** The schema of a JSON Merge Patch (RFC 7396). */
  get patch (): JsonSchema {
    this.#patch ??= rewriteSchema(this.#schema, { drop: 'readOnly', partial: true })
    return this.#patch
  }
}
