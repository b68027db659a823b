import { textPattern } from '../formats/format.ts'
import type { JsonSchema } from '../storage/contract.ts'

/** Longer values are accepted, up to the limit of the URI. Tools that generate values of any length are slow. */
export const maxTextLength = 255

/** A text in the query string. */
export const queryText: JsonSchema = { type: 'string', maxLength: maxTextLength, pattern: textPattern }
