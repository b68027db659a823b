import { maxDepth } from '../formats/i-json-reader.ts'
import { isDeeperThan } from '../http/json-value.ts'

/**
 * Parses the text of a parameter of clients such as react-admin, which is JSON. Returns undefined if it is malformed,
 * or deeper than content can be: what is done with it would use up the stack.
 */
export function parseJsonText (text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return isDeeperThan(value, maxDepth) ? undefined : value
  } catch {
    return undefined
  }
}
