// RFC 9112, section 6.1: Transfer-Encoding.
import { splitList } from './grammar.ts'

/** Whether the value has a coding that Node.js does not decode: it removes `chunked`, and ignores all others. */
export function hasUnknownTransferCoding (value: string): boolean {
  return value !== 'chunked' && splitList(value, ',').some((coding) => coding.toLowerCase() !== 'chunked')
}
