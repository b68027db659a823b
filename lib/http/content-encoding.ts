// RFC 9110, section 8.4: Content-Encoding.

import type { Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'

const factories = new Map([
  ['gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
  // RFC 9110, section 8.4.1.3: the same as gzip.
  ['x-gzip', createGunzip]
])

/** The codings for Accept-Encoding (RFC 9110, section 12.5.3). */
export const codings: readonly string[] = ['gzip', 'deflate', 'br']

/** The content is not in the coding that Content-Encoding states. */
export class UndecodableContent extends Error {
  readonly statusCode = 415

  constructor (coding: string, cause: Error) {
    super(`The content cannot be decoded as ${coding}.`, { cause })
    this.name = 'UndecodableContent'
  }
}

export interface Decoder extends Transform {
  /** Bytes before decoding. */
  readonly receivedEncodedLength: number
}

/** Creates a stream that decodes one coding; undefined if it is unknown, or if there are several. */
export function createDecoder (coding: string): Decoder | undefined {
  const create = factories.get(coding.trim().toLowerCase())
  if (create === undefined) return undefined
  const stream = create()
  const destroy = stream._destroy.bind(stream)
  stream._destroy = (error, done) => {
    destroy(error, (cause) => done(cause ? new UndecodableContent(coding, cause) : null))
  }
  // Object.defineProperty does not return the type of the new property.
  return Object.defineProperty(stream, 'receivedEncodedLength', {
    get: () => stream.bytesWritten
  }) as typeof stream & Decoder
}
